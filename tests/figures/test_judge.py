"""The judgement of a model, end to end: labelled turns through the whole graph, to a provider over HTTP."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ConfigError
from app.prices import Price, Tokens, read_prices
from benchmarks.judge import main
from benchmarks.judge_cases import WISHES, Want, talks_of
from tests.support.odd_provider import Provider, Reply, call, refuse, usage, words
from tests.support.places import DATA, ROOT

SERVICES = {
    "weather": {"name": "Weather", "description": "Tell the weather forecast of a city."},
    "taxi": {"name": "Taxi", "description": "Book a taxi ride from one place to another."},
}
TOOLS = {
    "freeze_account": {"description": {"en": "Put a hold on a bank account."}},
    "bill_due": {"description": {"en": "Tell when a bill is due."}},
}
TALK = [
    ("hello, how is the weather", None, "switch", "weather", ["first"], "For which city?"),
    ("in Rome please", "weather", "stay", None, [], "It is sunny in Rome."),
    ("now I need a taxi to the station", "weather", "switch", "taxi", [], "Where are you?"),
    ("at the Tiber, next to the old bridge", "taxi", "stay", None, [], "It comes at five."),
    ("and what will the weather be tomorrow", "taxi", "switch", "weather", ["resume"], "It will rain."),
]
MOST_CALLS = 1.63
ASKED, ANSWERED, CACHED = 100, 10, 40
"""Tokens that the stand-in says each call took."""


def write_sets(data: Path) -> None:
    """Write a conversation with two scored switches, and two requests for tools."""
    (data / "star_switch").mkdir(parents=True)
    (data / "tools_clinc").mkdir()
    (data / "star_switch" / "services.json").write_text(json.dumps(SERVICES), "utf-8")
    rows, history = [], list[list[str]]()
    for turn, (text, active, label, target, tags, reply) in enumerate(TALK):
        facts = {"id": f"star-1-{turn}", "dialog": "1", "turn": turn, "lang": "en", "candidates": [*SERVICES]}
        situation = {"active": active, "stack": [], "history": history[-4:], "text": text}
        rows.append({**facts, **situation, "label": label, "target": target, "tags": tags})
        history = [*history, ["user", text], ["assistant", reply]]
    (data / "star_switch" / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (data / "tools_clinc" / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    examples = [{"lang": "en", "text": "stop all payments", "label": "freeze_account"}]
    (data / "tools_clinc" / "examples.jsonl").write_text("\n".join(map(json.dumps, examples)), "utf-8")
    requests = [
        {"id": "clinc-1", "lang": "en", "text": "please freeze my account", "label": "freeze_account"},
        {"id": "clinc-2", "lang": "en", "text": "tell me a joke", "label": "none"},
    ]
    (data / "tools_clinc" / "dev.jsonl").write_text("\n".join(map(json.dumps, requests)), "utf-8")


def stand_in(body: dict[str, Any]) -> Reply:
    """Answer as a model that hears taxis, but no weather, and that freezes accounts instead of joking."""
    text = body["messages"][-1]["content"].rpartition("</context>")[2]
    is_result = body["messages"][-1]["role"] == "tool"
    if "tools" not in body:
        reply = words("taxi" if "taxi" in text else "stay")
    elif not is_result and ("freeze" in text or "joke" in text):
        reply = call("freeze_account", json.dumps({"request": text.strip()}), "call00001")
    else:
        reply = words("Gladly, here it is.")
    return [*reply, usage(ASKED, ANSWERED, CACHED)]


@dataclass
class Done:
    """The result of a run of the command."""

    code: int
    out: str
    err: str


def rows_of(printed: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the rows of the JSON that was printed, by set, kind and language."""
    return {(row["set"], row["kind"], row["lang"]): row for row in json.loads(printed)["rows"]}


async def judge(
    folder: Path, *options: str, url: str = "", stops: tuple[signal.Signals, Awaitable[None]] | None = None
) -> Done:
    """Run the command in a folder without settings, its model at an address; send it a signal when that is due."""
    path = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.judge", *options),
        cwd=folder,
        env={name: value for name, value in {**path, "MODEL_RETRIES": "0"}.items() if value},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Tests that run in the background of a shell ignore it, and so would what they start.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    if stops:
        await stops[1]
        process.send_signal(stops[0])
    out, err = await process.communicate()
    return Done(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.slow
async def test_a_model_is_judged_over_http(tmp_path: Path) -> None:
    """Precision and recall, calls, tokens, time and price of a served model that is right only sometimes."""
    write_sets(tmp_path / "data")
    async with Provider.open(stand_in) as server:
        options = ["--model", "openai:m", "--data", "data", "--json", "--turns", "turns.jsonl"]
        sets = ["--set", "star_switch", "--set", "tools_clinc", "--price", "openai:m=1000/5000"]
        done = await judge(tmp_path, *options, *sets, url=server.url)
    assert (done.code, done.err.count("star_switch: 4 of 4 turns")) == (0, 1)
    rows = rows_of(done.out)
    switches, tools, total = (
        rows["star_switch", "switch", "en"],
        rows["tools_clinc", "tool", "en"],
        rows["all", "", ""],
    )
    assert (switches["turns"], switches["wanted"], switches["precision"], switches["recall"]) == (4, 2, 1.0, 0.5)
    assert (tools["turns"], tools["wanted"], tools["precision"], tools["recall"]) == (2, 1, 0.5, 1.0)
    turns = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text("utf-8").splitlines()]
    missed = [turn for turn in turns if turn["right"] < turn["wanted"]]
    assert [(turn["text"], turn["expected"], turn["got"]) for turn in missed] == [(TALK[4][0], "weather", "taxi")]
    calls = len(server.bodies)
    assert total["calls"] == calls == sum(turn["calls"] for turn in turns)
    assert switches["observers"] == sum("tools" not in body for body in server.bodies) > 0
    # A draft that is thrown away tells no tokens, so they are those of the calls that ended.
    assert total["input"] == 10 * total["output"] <= ASKED * calls
    fresh = total["input"] - total["cached"]
    assert total["cached"] == total["input"] * CACHED / ASKED
    assert total["price"] == pytest.approx((fresh * 1000 + total["cached"] * 100 + total["output"] * 5000) / 1e6)
    assert total["s a turn"] > 0


@pytest.mark.slow
async def test_a_model_that_refuses_the_key_is_given_up(tmp_path: Path) -> None:
    """It is asked no more, what was measured is printed, and the exit code says why."""
    write_sets(tmp_path / "data")
    async with Provider.open(refuse(401, {"message": "wrong key", "code": "invalid_api_key"})) as server:
        done = await judge(tmp_path, "--model", "openai:m", "--data", "data", "--set", "tools_clinc", url=server.url)
    assert done.code == 76
    assert "stopped, the model failed: key_refused" in done.err
    assert len(server.bodies) < 4


@pytest.mark.slow
async def test_what_was_judged_is_printed_at_the_end(tmp_path: Path) -> None:
    """A stopped run prints its figures so far."""
    write_sets(tmp_path / "data")
    async with Provider.open(stand_in, pace=0.3) as server:
        options = ["--model", "openai:m", "--data", "data", "--json", "--set", "star_switch", "--at-once", "1"]
        done = await judge(tmp_path, *options, url=server.url, stops=(signal.SIGTERM, server.is_asked(TALK[2][0])))
    assert done.code == 130
    assert 0 < rows_of(done.out)["all", "", ""]["turns"] < len(TALK)


@pytest.mark.needs("planner")
def test_a_perfect_model_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels as a model: all is right, our own wishes included, and a limit leaves turns out."""
    monkeypatch.chdir(tmp_path)
    write_sets(tmp_path / "data")
    assert main(["--model", "labels", "--data", "data", "--json", "--limit", "3"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows["star_switch", "switch", "en"]["turns"] == 3
    assert {kind for name, kind, _ in rows if name == WISHES} == {"tool", "correction", "two wishes"}
    scores = [row[name] for row in rows.values() for name in ("precision", "recall")]
    assert scores == [1.0] * len(scores)


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "star_switch").exists(), reason="the labelled conversations are not beside the project")
def test_a_turn_of_star_takes_1_63_calls(capsys: pytest.CaptureFixture[str]) -> None:
    """A perfect model is asked so often in real conversations, observers and drafts thrown away included."""
    assert main(["--model", "labels", "--data", str(DATA), "--set", "star_switch", "--json"]) == 0
    row = rows_of(capsys.readouterr().out)["star_switch", "switch", "en"]
    # Eight farewells end the dialog at once: the labels have seven of them stay, and one switch.
    assert (row["turns"], row["wanted"], round(row["recall"] * row["wanted"])) == (1361, 322, 321)
    assert row["precision"] == 321 / 328
    assert row["a turn"] <= MOST_CALLS


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--model", "openai"], "LLM_MODEL and its kin take"),
        (["--model", "labels", "--set", "massive_switch"], "massive_switch is not in data"),
        (["--model", "labels", "--price", "m=cheap"], "a price is MODEL=INPUT/OUTPUT"),
        (["--model", "labels", "--part", "missing"], "missing.jsonl"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    problem: str,
) -> None:
    """Exit code 2, and nothing was asked."""
    monkeypatch.chdir(tmp_path)
    write_sets(tmp_path / "data")
    assert main(["--data", "data", *options]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert problem in printed.err


def test_prices_are_read() -> None:
    """A cached token costs a tenth unless a number says otherwise; a model's name may have an equals sign."""
    assert read_prices(["a:b=1/8", "c:d=e=2/0.5/9"]) == {"a:b": Price(1, 0.1, 8), "c:d=e": Price(2, 0.5, 9)}
    assert Price(1, 0.1, 8).of(Tokens(1, 1_000_000, 500_000, 1_000_000)) == pytest.approx(8.55)
    for wrong in ("a:b", "a:b=1", "=1/2", "a:b=1/-2", "a:b=1/2/3/4"):
        with pytest.raises(ConfigError, match="a price is"):
            read_prices([wrong])


def test_a_call_is_met_by_tool_and_words() -> None:
    """Another wording of the arguments is as good; another tool, or missing words, is not."""
    want = Want("change_todo", others=["add_todos"], words=["oat", "1|one"])
    assert want.is_met("change_todo", {"number": 1, "text": "Oat milk"})
    assert want.is_met("add_todos", {"items": ["one OAT milk"]})
    assert not want.is_met("delete_todos", {"number": 1, "text": "oat milk"})
    assert not want.is_met("change_todo", {"number": 1, "text": "milk"})


def test_our_own_wishes_are_in_both_languages() -> None:
    """Each kind occurs in English and Russian."""
    cases = [case for talk in talks_of(ROOT, WISHES, "dev", None) for case in talk.cases]
    kinds = {"tool", "correction", "two wishes"}
    assert {(case.lang, case.kind) for case in cases} == {(lang, kind) for lang in ("en", "ru") for kind in kinds}
