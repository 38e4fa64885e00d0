"""Which customer of the shop a user of the assistant is: the operator says so, and no model does."""

import sqlite3

MATCH = "INSERT OR REPLACE INTO shop_customers (user, device, customer) VALUES (?, ?, ?)"
OF_USER = "SELECT customer FROM shop_customers WHERE user = ? AND device IN ('', ?) ORDER BY device"


def match(db: sqlite3.Connection, user: str, customer: str, device: str = "") -> None:
    """Say which customer a user is: through every door, or through that of one `device` alone ("terminal")."""
    db.execute(MATCH, (user, device, customer))


def unmatch(db: sqlite3.Connection, user: str) -> bool:
    """Say that a user is no customer; False if they were none."""
    return db.execute("DELETE FROM shop_customers WHERE user = ?", (user,)).rowcount > 0


def customer_of(db: sqlite3.Connection, user: str, device: str) -> str | None:
    """Return the customer that a user is who speaks through the door of a device; None if they are none."""
    row = db.execute(OF_USER, (user, device)).fetchone()
    return str(row[0]) if row else None


def matches(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return every user with their device (empty: every one) and customer."""
    return db.execute("SELECT user, device, customer FROM shop_customers ORDER BY user, device").fetchall()
