"""Limits of one person, one message, one model: bombs and floods of every size."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from pydantic import ValidationError

from agents.errors import ConfigError
from agents.events import Error, Message
from agents.state import SUPERVISOR
from agents.state.limits import Limits
from agents.state.message_notes import Facts
from agents.state.person import Origin, Quoted
from agents.toolkit import Refused, traits
from app.assistant import Turn
from app.assistant.file_reader import FileReader
from app.assistant.outcome_store import TERMINAL
from app.settings import Settings
from app.testing import Chat
from app.testing.script import Call, Line
from app.yaml_file import FilePart, read_files, read_yaml
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.rules import RulesModel
from tests.support.rules_prompt import rules_prompt
from tests.support.sampling import sample
from tests.support.speech import Heard

pytestmark = pytest.mark.needs("profile")

LIMITS = Limits(message_length=50, turns_per_hour=3, calls_per_reply=4, same_calls=3, field_length=40)


@pytest.fixture
def bounded(chat: Chat) -> Chat:
    """A conversation with low limits."""
    chat.limits = LIMITS
    return chat


def given(chat: Chat, *tools: BaseTool) -> None:
    """Give the supervisor tools."""
    chat.speakers = changed(chat.speakers, SUPERVISOR, *tools)


@pytest.mark.parametrize("text", ["x" * 51, "пить" * 20, "\n" * 60, "x" * 5_000_000])
async def test_a_long_message_is_refused_and_not_stored(bounded: Chat, text: str) -> None:
    """It is told how long it may be, in its own language; no model, no file and no later prompt gets it."""
    lang = "ru" if "пить" in text else "en"
    await bounded.says(text)
    [error] = [event for event in bounded.events if isinstance(event, Error)]
    assert (error.code, error.text) == ("message_long", phrase("sorry_message_long", lang, length=len(text), most=50))
    assert sum(len(str(event)) for event in bounded.events) < 1_000
    async with bounded.assistant() as assistant:
        assert await assistant.history("ann") == []
        assert await assistant.receive(Turn(thread="ann", text=text, id="m"))
        assert await assistant.unanswered("ann", "") == []


async def test_a_user_begins_so_many_turns(bounded: Chat) -> None:
    """Whatever thread they use; the same message again counts once; others, and the operator's terminal, go on."""
    bounded.expects(supervisor=["ok"] * 7)

    async def said(assistant: Any, number: int, thread: str, user: str = "eve", device: str = "") -> str:
        turn = Turn(thread=thread, text="hi", user=user, id=f"{thread}{number}", device=device)
        events = [event async for event in assistant.play(turn)]
        told = (event for event in events if isinstance(event, Message | Error))
        return next(event.code if isinstance(event, Error) else event.text for event in told)

    async with bounded.assistant() as assistant:
        assert [await said(assistant, number, f"t{number}") for number in range(5)] == ["ok"] * 3 + ["many_turns"] * 2
        assert await said(assistant, 0, "t0") == "ok"
        assert await said(assistant, 1, "b", user="bob") == "ok"
        assert [await said(assistant, n, "e", device=TERMINAL) for n in range(3)] == ["ok"] * 3


@pytest.mark.parametrize("count", sample([5, 600], 2))
async def test_a_reply_has_so_many_calls(bounded: Chat, count: int) -> None:
    """The first are run; the rest is refused once, and leaves nothing in the history."""
    ran: list[int] = []
    given(bounded, _noting(ran))
    bounded.expects(supervisor=[[Call("note_down", {"number": number}) for number in range(count)], "Done."])
    trace = await bounded.says("go")
    assert sorted(ran) == [0, 1, 2, 3]
    assert trace.count("note_down") == 4
    answers = [message for message in await bounded.messages(SUPERVISOR) if message.type == "tool"]
    assert [message.text for message in answers][-1] == phrase("call_surplus", "en")
    assert len(answers) == 5


def _noting(ran: list[int]) -> BaseTool:
    @tool
    def note_down(number: int) -> str:
        """Note a number down."""
        ran.append(number)
        return "noted"

    return note_down


@pytest.mark.needs("planner")
async def test_hand_overs_are_calls_too(bounded: Chat) -> None:
    """A hundred handoffs in one reply do not make a queue of a hundred wishes."""
    calls = [Call("plan_things", {"brief": f"wish {number}"}) for number in range(100)]
    bounded.expects(supervisor=[calls], planner=["ok"])
    await bounded.says("go")
    assert len((await bounded.state())["wishes"]) <= LIMITS.calls_per_reply


@pytest.mark.parametrize(("numbers", "ends"), [((1, 2, 3), "in_circles"), ((1, 1), "in_circles"), ((1, 2, 7), "")])
async def test_a_search_may_fail_with_other_words(bounded: Chat, numbers: tuple[int, ...], ends: str) -> None:
    """A refusal in the same words allows three tries with other arguments, and one more with the same."""

    @tool
    async def find_customer(number: int) -> str:
        """Find a customer."""
        if number != 7:
            raise Refused("There is no such customer.")
        return "Here."

    given(bounded, find_customer)
    calls: list[Line] = [Call("find_customer", {"number": number}) for number in numbers]
    bounded.expects(supervisor=calls if ends else [*calls, "Done."])
    trace = await bounded.says("go")
    assert trace.endswith(f"supervisor: {phrase(ends, 'en') if ends else 'Done.'}")


KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "a write": ({"effect": "write"}, 1),
    "a write that recognises its call": ({"effect": "write", "repeatable": True}, 1),
    "a read": ({}, 1),
    "a look at the world outside": ({"volatile": True}, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize(("stated", "times"), sample(KINDS.values(), 2, KINDS))
async def test_a_model_in_a_circle(bounded: Chat, stated: dict[str, Any], times: int) -> None:
    """The same call in one turn is run so often, then refused twice, and the user is told; it runs in the next turn."""
    ran: list[int] = []
    given(bounded, traits(**stated)(_noting(ran)))
    bounded.expects(supervisor=[Call("note_down", {"number": 1})] * (times + 2))
    trace = await bounded.says("go")
    assert len(ran) == times
    assert trace.count(phrase("tool_repeated", "en", tool="note_down")) == 2
    assert trace.endswith(f"supervisor: {phrase('in_circles', 'en')}")
    bounded.expects(supervisor=[Call("note_down", {"number": 1}), "Done."])
    await bounded.says("again")
    assert len(ran) == times + 1


@pytest.mark.slow
async def test_a_read_after_a_write_is_run_again(bounded: Chat) -> None:
    """A write may have changed the result of the read."""
    ran: list[int] = []

    @traits(effect="write")
    @tool
    def put(number: int) -> str:
        """Put."""
        return "put"

    given(bounded, _noting(ran), put)
    look = Call("note_down", {"number": 1})
    bounded.expects(supervisor=[look, look, Call("put", {"number": 1}), look, look, "Done."])
    await bounded.says("go")
    assert len(ran) == 2


@pytest.mark.slow
async def test_a_call_that_failed_may_be_tried_again(bounded: Chat) -> None:
    """A failure of the moment may pass; a tool that always fails is not run for ever."""
    ran: list[int] = []

    @tool
    def shaky(number: int) -> str:
        """Try."""
        ran.append(number)
        raise OSError("no")

    given(bounded, shaky)
    bounded.expects(supervisor=[Call("shaky", {"number": 1})] * (LIMITS.same_calls + 2))
    await bounded.says("go")
    assert len(ran) == LIMITS.same_calls


FIELDS: dict[str, Any] = {
    "a long text": {"experience": "x" * 41},
    "a list of many": {"skills": ["abc"] * 20},
    "a list with one long entry": {"skills": ["x" * 41]},
    "one that is just too long": {"experience": "я" * 41},
    "a bomb": {"experience": "x" * 100_000},
}


@pytest.mark.parametrize("values", FIELDS.values(), ids=FIELDS)
async def test_a_field_of_a_form_is_bounded(bounded: Chat, values: dict[str, Any]) -> None:
    """A model that fills more into a field is told so; the form stays as it was."""
    bounded.expects(supervisor=[Call("get_acquainted", {"brief": ""})], profile=[Call("fill_form", values), "Ok."])
    trace = await bounded.says("hi")
    assert "may have 40 characters" in trace
    assert (await bounded.state())["forms"] == {}


UNITS = [
    "no, ",
    "and ",
    " milk and",
    "at 5 ",
    "add ",
    "1",
    "(",
    "a.",
    "и ",
    "не, ",
    "no no, ",
    ", ",
    "🎉",
    "в 5 ",
]


@pytest.mark.parametrize("unit", UNITS)
async def test_rules_read_any_text_to_its_end(unit: str) -> None:
    """No text of the longest kind that rules read keeps them for ever; a longer one is not understood."""
    model = RulesModel()
    facts: Facts = {"role": SUPERVISOR, "lang": "en", "helpers": {}, "tools": ["add_todos"]}
    long, longer = ("add " + unit * 4_000)[:1_000], ("add " + unit * 4_000)[:4_096]

    async def asked(text: str) -> str:
        return str((await model.ainvoke(rules_prompt([HumanMessage(text)], **facts))).text)

    await asked(long)
    assert "I did not understand" in await asked(longer)


@pytest.mark.parametrize("name", sorted({part.name for part in fields(Limits)} & {*Settings.model_fields}))
def test_a_limit_that_is_a_setting_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read from the environment; nonsense stops the start."""
    monkeypatch.setenv(name.upper(), "150")
    assert getattr(Settings(_env_file=None).limits, name) == 150
    for nonsense in ("-1", "much", "1e9999"):
        monkeypatch.setenv(name.upper(), nonsense)
        with pytest.raises(ValidationError):
            Settings(_env_file=None)


async def test_notes_are_counted_by_user(chat: Chat) -> None:
    """Other threads, and a thread that was forgotten, give no more notes; a repeated call leaves no second one."""
    async with chat.assistant() as assistant:
        kept = assistant.memory.notes
        taken = [await kept.add(f"t{n}", "why?", f"c{n}", "eve", 3) for n in (0, 0, 1, 2, 3, 4)]
        assert taken == [True] * 4 + [False] * 2
        assert len(await kept.waiting()) == 3
        await assistant.forgetting.thread("t0")
        assert not await kept.add("t9", "why?", "c9", "eve", 3)
        assert await kept.add("t9", "why?", "c9", "bob", 3)


async def test_who_has_left_too_many_notes_is_told(chat: Chat) -> None:
    """The model reads that there will be no more today."""
    chat.settings = Settings(_env_file=None, help_chain=("person",), notes_per_day=1)
    helping: list[Line] = [Call("assistant_help", {"query": "How high is Everest?"}), "I passed it on."]
    chat.expects(supervisor=[*helping, *helping])
    trace = await chat.says("How high is Everest?", "How high is Everest, then?")
    assert trace.count(phrase("help_exhausted", "en")) == 1


@pytest.mark.parametrize("count", [50, 51])
@pytest.mark.needs("planner")
async def test_a_full_list_can_be_read(chat: Chat, count: int) -> None:
    """More entries than a view has are shown by the page; the last page has the rest, and there is none behind it."""
    async with chat.assistant() as assistant:
        for number in range(1, count + 1):
            value = {"number": number, "text": f"thing {number}", "done": False}
            await assistant.memory.store.aput(("users", "ann", "todos"), f"k{number}", value)
    last = -(-count // 50)
    calls: list[Line] = [Call("list_todos"), Call("list_todos", {"page": last}), Call("list_todos", {"page": last + 1})]
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"})], planner=[*calls, "That was all."])
    trace = await chat.says("go on")
    assert f"thing {count}" in trace
    assert phrase("page_none", "en", page=last + 1, pages=last) in trace
    assert (phrase("page_of", "en", page=last, pages=last, count=count) in trace) is (last > 1)


WRONG_VALUES = [f"x: !!{tag}" for tag in ("int ''", "float ''", "bool maybe", "timestamp soon")]


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, "x: " + "1:" * 50_000 + "1", "x: " + "9" * 100_000, "x: 9999-99-99", *WRONG_VALUES],
)
def test_a_deep_file_is_a_fault(text: str, tmp_path: Path) -> None:
    """A file nested without an end, a number without one, or a value that its tag does not fit is one line."""
    file = tmp_path / "deep.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"deep\.yaml: not YAML"):
        read_files("REMOTE_TOOLS", file, FilePart)


def test_a_key_that_stands_twice_is_a_fault(tmp_path: Path) -> None:
    """The last one would count without a word; the keys that another map lends by `<<` may be there as well."""
    file = tmp_path / "twice.yaml"
    file.write_text("a: &a {b: 1}\nc: {<<: *a, b: 2}\na: 3\n", "utf-8")
    with pytest.raises(ConfigError, match=r"twice\.yaml: not YAML: line 3: the key “a” stands there twice"):
        read_files("REMOTE_TOOLS", file, FilePart)
    assert read_yaml("a: &a {b: 1}\nc: {<<: *a, b: 2}\n")["c"] == {"b": 2}


async def test_nothing_is_written_down_for_a_message_that_is_not_taken(chat: Chat) -> None:
    """After too many messages a user's recordings are neither fetched nor transcribed."""
    chat.limits = replace(LIMITS, turns_per_hour=1)
    chat.expects(supervisor=["Hello."])
    part = Quoted(kind="voice", by="", text="", origin=Origin.USER, file="a")
    fetched = list[str]()

    async def fetch(part: Quoted) -> bytes:
        fetched.append(part.get("file", ""))
        return b"OggS" + bytes(200)

    speech = Heard("milk")
    async with chat.assistant() as assistant:
        reader = FileReader(assistant, speech, 0)
        [_ async for _ in assistant.play(Turn(thread="ann", text="hello"))]
        for text in ("", "hear me"):
            reading = await reader.read(Turn(thread="ann", text=text, quoted=[part]), fetch, "en")
            assert reading.turn
            codes = [event.code async for event in assistant.play(reading.turn) if isinstance(event, Error)]
            assert codes == ["many_turns"]
        assert (fetched, speech.asked) == ([], [])


@pytest.mark.needs("planner")
@pytest.mark.parametrize("digits", [19, 30, 400])
async def test_a_number_that_no_state_keeps_ends_no_turn(chat: Chat, digits: int) -> None:
    """A model may write a whole number of any length as an argument: the tool answers, and the talk goes on."""
    number = int("9" * digits)
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "-"})], planner=[Call("delete_todos", {"numbers": [number]}), "No."]
    )
    trace = await chat.says("delete it")
    assert f"Not on the list: {number}" in trace
    assert trace.endswith("planner: No.")
