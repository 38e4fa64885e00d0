"""The savings of small numbers in place of identifiers, on recorded results of the shop."""

import json
from pathlib import Path

import pytest

from agents.language.identifiers import MARK, Aliases
from benchmarks import aliases
from benchmarks.report import Row

ORDER = {
    "order_id": "#W2378156",
    "user_id": "yusuf_rossi_9620",
    "items": [{"name": "Lamp", "product_id": "6992792935", "item_id": "4202497723"}],
    "fulfillments": [{"tracking_id": ["843053632392"], "item_ids": ["4202497723"]}],
    "payment_history": [{"amount": 12.5, "payment_method_id": "paypal_5727330"}],
}
LAMPS = {"product_id": "6992792935", "variants": {"4202497723": {"item_id": "4202497723", "price": 12.5}}}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A file with one task: an order named by the user, then a product of it, then what is done with both."""
    actions = [
        {"name": "get_order_details", "arguments": {"order_id": "#W2378156"}, "output": ORDER},
        {"name": "get_product_details", "arguments": {"product_id": "6992792935"}, "output": LAMPS},
        {"name": "calculate", "arguments": {"expression": "1 + 1"}, "output": "2"},
        {"name": "return_delivered_order_items", "arguments": {"item_ids": ["4202497723"]}, "error": "too late"},
    ]
    path = tmp_path / "replay_train.jsonl"
    path.write_text(json.dumps({"actions": actions}) + "\n", "utf-8")
    return path


def test_identifiers_are_counted_and_come_back(recorded: Path) -> None:
    """Every marked identifier of results and arguments is restored, but for one that only the user knew."""
    rows = {row["what"]: row for row in aliases.rows(aliases.measure(recorded))}

    assert list(rows) == ["order", "product", "all results", "arguments"]
    assert [row["identifiers"] for row in rows.values()] == [6, 2, 8, 2]
    assert [row["right %"] for row in rows.values()] == [100, 100, 100, 100]
    assert rows["arguments"]["never shown"] == 1
    assert number(rows["order"], "left") < number(rows["order"], "characters")
    assert number(rows["order"], "tokens left") < number(rows["order"], "tokens")


def test_a_wrong_identifier_counts() -> None:
    """The figure would show a number that stands for something else."""
    hidden, schema = Aliases({"item": {"1": "one", "2": "two"}}), {MARK: "item"}

    assert aliases.means(1, "one", schema, hidden)
    assert not aliases.means(2, "one", schema, hidden)
    assert not aliases.means(3, "one", schema, hidden)


def number(row: Row, column: str) -> float:
    """Return a figure of a row."""
    value = row[column]
    assert isinstance(value, int | float)
    return value
