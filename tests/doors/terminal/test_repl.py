"""The REPL: keys in, a conversation out."""

import re
from collections.abc import Iterator, Sequence
from io import StringIO

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from agents.events import Interrupt, Message
from app.doors.terminal.repl import Completions
from app.doors.visit import Visit
from app.testing import Chat
from app.testing.script import Call
from tests.support.fake_assistant import StandIn, line, says
from tests.support.shop_tools import with_shop
from tests.support.terminal_visit import repl_for, visit_to

ENTER, ALT_ENTER, CTRL_C, CTRL_D, UP = "\r", "\x1b\r", "\x03", "\x04", "\x1b[A"
SAID = [line("user", "hi")]

OPTIONS = [{"id": "a", "label": "Blue shoes", "detail": "60 EUR"}, {"id": "b", "label": "Red hat"}]
ASKED = Interrupt(id="1", kind="selector", prompt="Which order?", options=OPTIONS)


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    """Give the REPL a keyboard."""
    with create_pipe_input() as keyboard:
        yield keyboard


async def talk(
    stand_in: StandIn,
    keys: PipeInput,
    *typed: str,
    dialogs: Sequence[str] = ("profile",),
    history: InMemoryHistory | None = None,
) -> tuple[str, Visit]:
    """Type these keys at the REPL, one after the other; return what was shown, and the visit."""
    screen = StringIO()
    console = Console(file=screen, width=80)
    stand_in.dialogs = dict.fromkeys(dialogs, "gets to know you")
    place = (console, history or InMemoryHistory(), (keys, DummyOutput()))
    repl, visit = repl_for(stand_in.assistant, "me", *place)
    # What is typed ahead waits for the next prompt.
    keys.send_text("".join(typed))
    assert await repl.run() == 0
    return screen.getvalue(), visit


async def test_a_new_thread_greets_first(keys: PipeInput) -> None:
    """In a new thread the assistant speaks before the first prompt."""
    stand_in = StandIn(says("Welcome"), says("Nice"))
    shown, _ = await talk(stand_in, keys, "I am Ann" + ENTER, CTRL_D)
    assert [turn.text for turn in stand_in.heard] == [None, "I am Ann"]
    assert shown.index("Welcome") < shown.index("Nice")


async def test_a_visit_begins_with_a_greeting(keys: PipeInput) -> None:
    """The dialogs' greeting of a returning user comes before the first prompt."""
    stand_in = StandIn(lines=SAID)
    stand_in.greets_with = "Today, Friday, 20 November\n10 am  dentist"
    shown, _ = await talk(stand_in, keys, CTRL_D)
    assert shown.count("10 am  dentist") == 1
    assert stand_in.heard == []


async def test_a_dialog_is_named_when_it_speaks(keys: PipeInput) -> None:
    """The supervisor needs no name, a dialog shows its own."""
    stand_in = StandIn(says("One"), says("Two", "profile"), lines=SAID)
    shown, _ = await talk(stand_in, keys, "a" + ENTER, "b" + ENTER, CTRL_D)
    assert "supervisor" not in shown
    assert re.search(r"profile\s+Two", shown)


async def test_a_message_may_have_several_lines(keys: PipeInput) -> None:
    """A trailing backslash and Alt-Enter begin a new line, Enter sends."""
    stand_in = StandIn(says("Fine"), lines=SAID)
    await talk(stand_in, keys, "one\\" + ENTER, "two", ALT_ENTER, "three" + ENTER, ENTER, CTRL_D)
    assert [turn.text for turn in stand_in.heard] == ["one\ntwo\nthree"]


async def test_ctrl_c_clears_the_line_and_twice_leaves(keys: PipeInput) -> None:
    """Ctrl-C at the prompt throws the line away; a second one soon after leaves, if nothing was sent in between."""
    stand_in = StandIn(says("Fine"), says("Good"), lines=SAID)
    typed = ["wrong", CTRL_C, "right" + ENTER, CTRL_C, "yes" + ENTER, CTRL_C, CTRL_C]
    shown, _ = await talk(stand_in, keys, *typed)
    assert [turn.text for turn in stand_in.heard] == ["right", "yes"]
    assert "See you" in shown


async def test_what_was_said_comes_back_at_the_prompt(keys: PipeInput) -> None:
    """The arrow up brings back the messages of earlier visits, several lines at once."""
    stand_in = StandIn(says("Fine"), lines=SAID)
    await talk(stand_in, keys, UP + ENTER, CTRL_D, history=InMemoryHistory(["one\ntwo"]))
    assert [turn.text for turn in stand_in.heard] == ["one\ntwo"]


@pytest.mark.needs("profile")
async def test_slash_commands_are_not_messages(keys: PipeInput) -> None:
    """Commands answer at once; a path or an unknown command never becomes one by mistake."""
    stand_in = StandIn(says("A path"), lines=SAID)
    typed = [f"/{name}{ENTER}" for name in ("help", "state", "history", "threads", "dialogs", "nonsense")]
    shown, _ = await talk(stand_in, keys, *typed, "/etc/passwd?" + ENTER, "/quit" + ENTER)
    assert [turn.text for turn in stand_in.heard] == ["/etc/passwd?"]
    for text in ("/trace", "Waits to go on", "you: hi", "get to know you", "There is no /nonsense", "Ctrl-X Ctrl-E"):
        assert text in shown
    # A thread is known by its first line and its time.
    assert re.search(r"^hi  \d{4}-\d\d-\d\d \d\d:\d\d  me$", shown, re.MULTILINE)


async def test_lang_trace_and_new_change_the_visit(keys: PipeInput, monkeypatch: pytest.MonkeyPatch) -> None:
    """/lang, /trace and /new hold for the turns that follow."""
    monkeypatch.setattr("app.doors.slash_commands.own_data.languages", lambda: ["en", "ru"])
    stand_in = StandIn(says("Fine"), lines=SAID)
    typed = ["/lang ru", "/lang qq", "/trace", "/new work", "hi"]
    shown, visit = await talk(stand_in, keys, *(text + ENTER for text in typed), CTRL_D)
    turn = stand_in.heard[0]
    assert (turn.lang, turn.thread, turn.user) == ("ru", "work", "me")
    assert visit.door.is_traced
    assert stand_in.languages == {"me": "ru"}
    assert "языка qq нет" in shown
    assert "До встречи" in shown


async def test_go_asks_for_a_dialog(keys: PipeInput) -> None:
    """/go names a dialog, or lets the assistant go on by itself."""
    stand_in = StandIn(says("Here"), says("Well"), lines=SAID)
    shown, _ = await talk(stand_in, keys, *(t + ENTER for t in ("/go profile", "/go", "/go away")), CTRL_D)
    assert [(turn.text, turn.source) for turn in stand_in.heard] == [
        ("profile", "command"),
        (None, "command"),
    ]
    assert "There is no dialog away" in shown


async def test_commands_and_what_may_follow_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of a command is completed, and behind it a dialog, a language or a thread; nothing else is."""
    monkeypatch.setattr("app.doors.slash_commands.own_data.languages", lambda: ["en", "ru"])
    stand_in = StandIn(lines=SAID)
    stand_in.dialogs = {"planner": "your day", "profile": "you"}
    visit = visit_to(stand_in.assistant, "me")
    completer = Completions(visit, lambda: "en")

    async def found(typed: str) -> list[str]:
        asked = completer.get_completions_async(Document(typed), CompleteEvent())
        return [typed[: len(typed) + completion.start_position] + completion.text async for completion in asked]

    assert await found("/h") == ["/help", "/history"]
    assert await found("/go ") == ["/go planner", "/go profile"]
    assert await found("/go PR") == ["/go profile"]
    assert await found("/lang r") == ["/lang ru"]
    assert await found("/new ") == ["/new me"]
    for typed in ("h", "/start", "/stop ", "/nonsense ", "/state ", "/go\n"):
        assert await found(typed) == []


async def test_a_question_is_open_until_it_is_answered(keys: PipeInput) -> None:
    """It is drawn with its numbers, the toolbar says that it waits, and its answers are completed."""
    stand_in = StandIn(
        [ASKED, Message(speaker="planner", text="-", shown=True)], says("Fine"), lines=[line("user", "hi")]
    )
    shown, visit = await talk(stand_in, keys, "back" + ENTER, CTRL_D)
    assert "Which order?\n1. Blue shoes — 60 EUR\n2. Red hat\n" in re.sub(r" +\n", "\n", shown)
    completer = Completions(visit, lambda: "en")

    def found(typed: str) -> list[str]:
        return [completion.text for completion in completer.get_completions(Document(typed), CompleteEvent())]

    assert found("") == ["Blue shoes", "Red hat"]
    assert found("re") == found("2") == ["Red hat"]
    assert found("green") == []
    fields = [{"name": "a", "label": "Street"}, {"name": "b", "label": "Zip"}]
    visit.question = ASKED.model_copy(update={"options": [], "fields": fields})
    assert found("street: Elm Street 5\nz") == ["Zip: "]
    await visit.play(visit.turn("2"))
    assert found("re") == []


@pytest.mark.needs("planner")
async def test_a_question_waits_for_the_next_visit(chat: Chat, keys: PipeInput) -> None:
    """Between a question and its answer the process may end: the next visit shows it, and a number answers it."""
    chat.speakers = with_shop(chat.speakers)
    chat.expects(
        supervisor=["Welcome.", Call("plan_things", {"brief": "send something back"})],
        planner=[Call("choose_order"), "Sent back."],
    )
    before, after = StringIO(), StringIO()
    for screen, typed in ((before, "I want to return something"), (after, "2")):
        async with chat.assistant() as assistant:
            place = (Console(file=screen), InMemoryHistory(), (keys, DummyOutput()))
            repl, _ = repl_for(assistant, "me", *place)
            keys.send_text(typed + ENTER + CTRL_D)
            assert await repl.run() == 0
    assert "Which order?" in before.getvalue()
    assert re.search(r"Which order\?\s+1\. Blue shoes.*Sent back\.", after.getvalue(), re.DOTALL)
