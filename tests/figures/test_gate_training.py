"""The training and the measuring of the gate, on a few composed dialogs: the data of the real sets is not here."""

import json
from pathlib import Path

import pytest

from benchmarks import gate_training, switch

SERVICES = {
    "weather": {"name": "Weather", "description": "Tell the weather forecast of a city."},
    "taxi": {"name": "Taxi", "description": "Book a taxi ride from one place to another."},
    "table": {"name": "Restaurant", "description": "Reserve a table in a restaurant."},
    "bank": {"name": "Bank", "description": "Show the balance of an account."},
}
ASKS = {
    "weather": ("For which city?", "the weather forecast please"),
    "taxi": ("Where do you leave?", "I need a taxi"),
    "table": ("For how many people?", "reserve a table somewhere"),
    "bank": ("Which account?", "what is my balance"),
}
ANSWERS = ("four", "in London", "the first one", "tomorrow at 5", "yes please", "my own")


def row(dialog: int, turn: int, active: str, text: str, target: str | None) -> str:
    """Return a turn of a set."""
    record = {
        "dialog": str(dialog),
        "turn": turn,
        "lang": "en",
        "active": active,
        "stack": [],
        "candidates": [*SERVICES],
        "history": [["user", "hello"], ["assistant", ASKS[active][0]]],
        "text": text,
        "label": "switch" if target else "stay",
        "target": target,
        "tags": [],
    }
    return json.dumps(record)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sets in which each dialog has some answers and a change of subject."""
    lines = []
    names = [*SERVICES]
    for number in range(48):
        active, target = names[number % 4], names[(number + 1 + number % 3) % 4]
        lines += [row(number, turn, active, ANSWERS[(number + turn) % 6], None) for turn in range(3)]
        lines.append(row(number, 3, active, f"now {ASKS[target][1]}", target))
    for name in ("star_switch", "sgd_switch", "massive_switch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "services.json").write_text(json.dumps(SERVICES), "utf-8")
        for part in ("train", "dev"):
            (tmp_path / name / f"{part}.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_the_same_data_makes_the_same_weights(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are equal to the byte; the trained gate tells answers from changes of subject."""
    files = [data / "one.json", data / "two.json"]
    for file in files:
        monkeypatch.setattr("sys.argv", ["gate_training", "--data", str(data), "--out", str(file), "--json"])
        gate_training.main()
    assert files[0].read_bytes() == files[1].read_bytes()
    assert {line["recall"] for line in json.loads(capsys.readouterr().out.splitlines()[0])["rows"]} == {1.0}
    stored = json.loads(files[0].read_text("utf-8"))
    assert stored["low"] < stored["high"]
    assert stored["weights"]["foreign weight"] > 0 > stored["weights"]["asked Q"]


def test_no_weights_come_from_the_share_alike_set() -> None:
    """SGD is only measured on."""
    assert gate_training.SETS == ("star_switch", "massive_switch")


def test_a_set_and_language_is_a_line(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the keys that scripts rely on; the shipped gate sees every change of subject of these dialogs."""
    monkeypatch.setattr("sys.argv", ["switch", "--data", str(data), "--json"])
    switch.main()
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [line["set"] for line in lines] == ["star", "sgd", "massive"]
    assert all([*line] == ["set", "lang", "turns", "switches", "free", "recall", "ms"] for line in lines)
    assert {(line["turns"], line["switches"], line["recall"]) for line in lines} == {(192, 48, 1.0)}
    assert all(0 < line["free"] < 1 for line in lines)
