"""The command line while a tool waits for the user: exit codes, `resume`, `state`, and what goes to which stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.assistant import Assistant
from app.cli import command_line
from app.composition import discover
from app.process.exit_codes import WAITING
from app.testing import Chat
from app.testing.script import Call, Script
from prompts import phrase
from tests.support.command_line import ask, resume
from tests.support.killable_process import Request
from tests.support.page_tools import with_pages
from tests.support.scripted_assistant import ROLES, open_calls, stage, todos
from tests.support.shop_tools import BEGIN, HAT, with_shop

pytestmark = pytest.mark.needs("planner")

QUESTION = "Which order?\n1. Blue shoes — 60 EUR\n2. Red hat — 15 EUR\n3. Green coat — 140 EUR\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run commands, each on the database opened anew; return exit code, stdout and stderr."""

    @asynccontextmanager
    async def opened(*_: Any, **__: Any) -> AsyncIterator[Assistant]:
        async with chat.assistant() as assistant:
            yield assistant

    def main(*arguments: str) -> tuple[int, str, str]:
        return (command_line.main([*arguments]), *capsys.readouterr())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APP_LANG", "en")
    for module in ("talk", "threads"):
        monkeypatch.setattr(f"app.cli.{module}.open_assistant", opened)
    chat.speakers = with_shop(chat.speakers)
    return main


@pytest.mark.parametrize("choice", ["2", HAT, "red hat", "the second one", "the cheap one"])
def test_a_choice_is_answered_by_resume(chat: Chat, run: Run, choice: str) -> None:
    """A turn that ends with a question exits 10; `resume` takes a number, an id, a label or words and exits 0."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    assert run("ask", "I want to return something") == (10, QUESTION, f"(--question {open_question(chat)})\n")
    assert run("resume", "--thread", "me", "--choose", choice) == (0, "Sent back.\n", "")


def open_question(chat: Chat) -> str:
    """Return the id of the open question."""
    return str(asyncio.run(chat.state("me"))["pending"][0]["id"])


@pytest.mark.parametrize("calls", [["choose_order", "choose_order"], ["choose_order", "ask_address"], ["choose_order"]])
def test_a_command_that_is_run_again_answers_nothing_else(chat: Chat, run: Run, calls: list[str]) -> None:
    """The same `resume` again repeats its outcome; another choice, or the question's id, answers what is asked now."""
    chat.expects(supervisor=BEGIN, planner=[[Call(name) for name in calls], "Sent back."])
    run("ask", "I want to return something")
    first = open_question(chat)
    once = run("resume", "--thread", "me", "--choose", "1")
    assert run("resume", "--thread", "me", "--choose", "1") == once
    assert run("resume", "--thread", "me", "--choose", "1", "--question", first) == once
    assert len((asyncio.run(chat.state("me"))).get("pending", [])) == len(calls) - 1
    if calls[1:]:
        answer = "1" if calls[1] == "choose_order" else '{"street": "Elm Street 5", "zip": 8001}'
        assert run("resume", "--thread", "me", "--choose", answer, "--question", open_question(chat))[0] == 0


def test_a_question_that_is_named_is_the_one_that_is_answered(chat: Chat, run: Run) -> None:
    """`ask` and `state` tell its id, as text and as JSON; another one is refused in one line, with exit code 2."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    _, out, _ = run("ask", "I want to return something", "--json")
    [told] = [event["id"] for event in map(json.loads, out.splitlines()) if event["type"] == "interrupt"]
    assert f"(--question {told})" in run("state", "--thread", "me")[1]
    assert json.loads(run("state", "--thread", "me", "--json")[1])["pending"][0]["id"] == told
    fault = f"python -m app: the question 'another' is not open; open is {told}\n"
    assert run("resume", "--thread", "me", "--choose", "1", "--question", "another") == (2, "", fault)
    assert run("resume", "--thread", "me", "--choose", "1", "--question", told)[:2] == (0, "Sent back.\n")


@pytest.mark.parametrize(
    ("tool", "address"),
    [("sign_in", "https://shop.example/end?code=a1&state=7"), ("pick_slot", "https://shop.example/end?day=1&hour=9")],
)
@pytest.mark.parametrize("command", ["ask", "resume"])
def test_the_return_address_of_a_page_is_an_answer(chat: Chat, run: Run, tool: str, address: str, command: str) -> None:
    """An address that does not fit asks again and exits 10; one that does is taken, typed or by `resume`."""
    chat.speakers = with_pages(chat.speakers)
    chat.expects(supervisor=BEGIN, planner=[Call(tool), "Welcome."])
    reply = ("resume", "--thread", "me", "--choose") if command == "resume" else ("ask",)

    assert run("ask", "I want to sign in")[0] == 10
    code, out, _ = run(*reply, "https://evil.example/end?code=a1&state=7")
    assert (code, out.splitlines()[0]) == (10, phrase("page_wrong", "en"))
    assert run(*reply, address) == (0, "Welcome.\n", "")


def test_the_outcome_of_a_question_is_told_again(chat: Chat, run: Run) -> None:
    """The same message id again asks the same question with its options, and exits 10 again."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    ask = ("ask", "I want to return something", "--message-id", "m1", "--json")
    run(*ask)
    code, out, _ = run(*ask)
    events = [json.loads(line) for line in out.splitlines()]

    assert (code, [event["type"] for event in events]) == (10, ["turn.start", "interrupt", "message", "turn.end"])
    assert events[1]["options"][1] == {"id": HAT, "label": "Red hat", "detail": "15 EUR"}
    assert {"id", "kind", "prompt", "options"} == events[1].keys() - {"v", "seq", "thread", "turn", "type"}


def test_the_turn_of_a_choice_is_one_of_its_own(chat: Chat, run: Run) -> None:
    """As JSON, `resume` tells a turn whose source is a choice, and its tool's result."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    run("ask", "I want to return something")
    code, out, _ = run("resume", "--thread", "me", "--choose", "1", "--json")
    events = [json.loads(line) for line in out.splitlines()]

    assert (code, events[0]["source"], events[0]["text"]) == (0, "choice", "1")
    assert [event["tool"] for event in events if event["type"] == "tool.end"] == ["choose_order"]


def test_what_is_no_answer_is_a_fault_of_the_caller(chat: Chat, run: Run) -> None:
    """An answer that fits no option, and one to nothing, are one line on stderr and exit 2; nothing is played."""
    fault = "python -m app: nothing was asked in the thread 'me'\n"
    assert run("resume", "--thread", "me", "--choose", "1") == (2, "", fault)
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    run("ask", "I want to return something")

    fault = "python -m app: '4' is not an answer; there are: 1 Blue shoes · 2 Red hat · 3 Green coat\n"
    assert run("resume", "--thread", "me", "--choose", "4") == (2, "", fault)
    code, out, _ = run("state", "--thread", "me")
    assert code == 0
    assert "selector: Which order? [1 Blue shoes · 2 Red hat · 3 Green coat] (--question" in out
    assert len(asyncio.run(_lines(chat))) == 2


def test_a_form_and_a_page_are_answered_by_resume(chat: Chat, run: Run) -> None:
    """A form takes JSON, and asks for what is missing; a page takes any word."""
    chat.expects(supervisor=BEGIN, planner=[[Call("ask_address"), Call("sign_in")], "Thanks."])
    assert run("ask", "Fetch it")[0] == 10

    code, out, _ = run("resume", "--thread", "me", "--choose", '{"street": "Elm Street 5"}')
    assert code == 10
    assert out == "Thank you. What is still missing:\nYou can leave out: zip. Say “skip” for that.\nzip:\n"
    code, out, _ = run("resume", "--thread", "me", "--choose", "soon")
    assert (code, "That does not fit" in out) == (10, True)
    assert run("resume", "--thread", "me", "--choose", "8001")[:2] == (
        10,
        "Please sign in.\nhttps://shop.example/sign-in\n",
    )
    assert run("resume", "--thread", "me", "--choose", "signed in")[:2] == (0, "Thanks.\n")


def test_chat_from_a_pipe_exits_as_it_ends(
    chat: Chat, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A question that a later line answers is no reason to exit 10, one that is left open is."""
    chat.expects(supervisor=["Welcome.", *BEGIN], planner=[Call("choose_order"), "Sent back.", Call("choose_order")])
    chat.expects(observer=["stay"])
    path = tmp_path / "input.txt"
    for text, code in (("I want to return something\n2\n", 0), ("and now one more of all those orders\n", 10)):
        path.write_text(text, "utf-8")
        with path.open(encoding="utf-8") as stream:
            monkeypatch.setattr("sys.stdin", stream)
            assert run("chat")[0] == code


@pytest.mark.slow
async def test_a_question_by_the_command_line(tmp_path: Path) -> None:
    """A killed `ask` has its question answered by `resume`; of two that do so at once, one counts."""
    database = tmp_path / "x.db"
    message = Request(
        database=str(database), thread="ann", text="add buy milk, drink milk and bread to my list", id="1"
    )
    await ask(message)
    first = await ask(replace(message, text="delete the milk", id="2", kill=0, since="interrupt"))
    assert "interrupt" in [event["type"] for event in first.events]
    outcomes = await asyncio.gather(*(resume(replace(message, text=number)) for number in "12"))

    async with stage(database, Script().models(ROLES)) as assistant:
        left = await todos(assistant, "ann")
        assert await open_calls(assistant, "ann") == []
    assert left in (["drink milk", "bread"], ["buy milk", "bread"])
    tools = [event["tool"] for outcome in outcomes for event in outcome.events if event["type"] == "tool.start"]
    assert tools.count("delete_todos") == 1


async def _lines(chat: Chat, thread: str = "me") -> list[Any]:
    async with chat.assistant() as assistant:
        return await assistant.history(thread)


@pytest.mark.parametrize(
    ("answer", "kept"), [("yes", []), ("no", ["milk", "bread"]), ("1", []), ("2", ["milk", "bread"])]
)
def test_a_call_that_is_asked_first(chat: Chat, run: Run, answer: str, kept: list[str]) -> None:
    """It waits with exit code 10; `resume --choose` takes yes and no."""
    chat.speakers, _ = discover()
    milk, everything = Call("add_todos", {"items": ["milk", "bread"]}), Call("delete_todos", {"numbers": [1, 2]})
    chat.expects(supervisor=BEGIN, planner=[milk, "Noted.", everything, "So."], observer=["stay"])
    run("ask", "milk and bread", "--thread", "ann")
    code, asked, _ = run("ask", "please take all of that off my list", "--thread", "ann")
    assert (code, asked) == (WAITING, "Delete from your list (2): 1. milk; 2. bread?\nYes or no?\n")
    assert run("resume", "--thread", "ann", "--choose", "perhaps")[0] != 0
    code, said, _ = run("resume", "--thread", "ann", "--choose", answer)
    assert (code, said) == (0, "So.\n")

    async def listed() -> list[str]:
        async with chat.assistant() as assistant:
            items = await assistant.memory.store.asearch(("users", "ann", "todos"))
        return sorted((item.value["text"] for item in items), reverse=True)

    assert asyncio.run(listed()) == sorted(kept, reverse=True)
