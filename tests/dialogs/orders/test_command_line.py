"""`python -m app orders`: what an operator does in the shop, and what is refused."""

import json
from pathlib import Path

import pytest

from app.cli import command_line
from dialogs.orders.store import CATALOGUE, DEMO_CUSTOMER, EVERYBODY
from tests.dialogs.orders.files import digest
from tests.doors.cli.conftest import Captured
from tests.support.places import DATA

RETAIL = DATA / "tau_retail" / "db.json"
EMPTY = "f08162ba14d2d3ce9ebe4ebc0fa3cd4bdc2876eaaf9d3411802cdba96ea1f41a"
"""The digest of the recorded shop before anybody was served."""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A database of its own."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'dialogs.db'}")
    monkeypatch.setenv("APP_LANG", "en")
    return tmp_path / "dialogs.db"


def run(capsys: Captured, *arguments: str) -> object:
    """Run a command with --json, and return what it prints."""
    assert command_line.main(["orders", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_users_are_matched_with_customers(capsys: Captured, database: Path) -> None:
    """A fresh shop knows who is at the terminal; a match is for every door unless one is named, and is taken back."""
    seeded = {"user": EVERYBODY, "device": "terminal", "customer": DEMO_CUSTOMER}
    assert run(capsys) == [seeded]
    run(capsys, "match", "1001", "boris_orlov_1002")
    run(capsys, "match", "1002", "clara_meyer_1003", "--device", "telegram")
    everywhere = {"user": "1001", "device": "", "customer": "boris_orlov_1002"}
    assert run(capsys) == [seeded, everywhere, {"user": "1002", "device": "telegram", "customer": "clara_meyer_1003"}]
    run(capsys, "unmatch", "1001")
    run(capsys, "unmatch", "1002")
    assert run(capsys) == [seeded]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("match", "1001", "nobody"), "no customer 'nobody'"),
        (("unmatch", "1001"), "'1001' is not a customer"),
        (("price", "1", "5"), "no item '1'"),
        (("price", "4100000063", "-5"), "more than zero"),
        (("price", "4100000063", "nan"), "more than zero"),
        (("load", str(CATALOGUE)), "add --yes"),
        (("load", "/nowhere.json", "--yes"), "No such file"),
        (("load", "/dev/zero", "--yes"), "not an ordinary file"),
        (("load", __file__, "--yes"), "is not a shop: the file: Invalid JSON"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    capsys: Captured, database: Path, arguments: tuple[str, ...], problem: str
) -> None:
    """A usage error, exit 2, and the reason."""
    assert command_line.main(["orders", *arguments]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_a_shop_of_the_same_schema_is_loaded(capsys: Captured, database: Path, tmp_path: Path) -> None:
    """It replaces the catalogue; a former customer is matched no more; a wrong file is refused."""
    shop = json.loads(CATALOGUE.read_text("utf-8"))
    del shop["users"][DEMO_CUSTOMER]["email"]
    (broken := tmp_path / "broken.json").write_text(json.dumps(shop), "utf-8")
    assert command_line.main(["orders", "load", str(broken), "--yes"]) == 2
    assert f"users.{DEMO_CUSTOMER}.email" in capsys.readouterr().err

    del shop["users"][DEMO_CUSTOMER]
    broken.write_text(json.dumps(shop), "utf-8")
    assert run(capsys, "load", str(broken), "--yes") == {"products": 8, "users": 2, "orders": 7, "told": 0}
    assert run(capsys) == []


@pytest.mark.slow
@pytest.mark.skipif(not RETAIL.exists(), reason="the recorded shop is not beside the project")
def test_the_recorded_shop_is_loaded_as_it_stands(capsys: Captured, database: Path) -> None:
    """No number and no field of a published shop changes."""
    assert run(capsys, "load", str(RETAIL), "--yes") == {"products": 50, "users": 500, "orders": 1000, "told": 0}
    assert digest(database, {}) == EMPTY
