"""PostgreSQL beside SQLite: what differs, and what an operator does with it."""
