"""A shop that an earlier version has filled."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.composition import open_assistant
from dialogs.orders.store import CATALOGUE, DEMO_CUSTOMER, fill
from tests.storage.test_kept_threads import KEPT, made_by, said


@pytest.mark.parametrize("release", sorted(KEPT))
@pytest.mark.parametrize("user", ["me", "ann"])
async def test_everybody_at_a_terminal_is_the_customer_of_an_older_shop(
    tmp_path: Path, release: str, user: str
) -> None:
    """Earlier shops have a row for the user "me" alone; an operator's matches stay unchanged."""
    path = tmp_path / "kept.db"
    settings = made_by(release, path, f"INSERT INTO shop_customers VALUES ('{user}', 'terminal', '{DEMO_CUSTOMER}')")
    with closing(sqlite3.connect(path)) as database, database:
        fill(database, json.loads(CATALOGUE.read_text("utf-8")))
    async with open_assistant(settings, remote=False) as assistant:
        [answer] = await said(assistant, "other", "show my orders", device="terminal")
    assert ("is not a customer" in answer) == (user == "ann"), answer
