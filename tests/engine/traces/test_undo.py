"""The user can undo the writes of tools, within the thread and for a day."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from agents.memory.undo_log import DAY_MS
from agents.toolkit import Refused, Runtime, traits
from agents.toolkit.speaker import Speaker
from agents.toolkit.tool_search import tools_of
from agents.toolkit.traits import Done, traits_of
from agents.toolkit.undo import UNDO_LAST
from app.composition import discover
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.places import ROOT

Reminders = pytest.importorskip("dialogs.planner.store").Reminders

pytestmark = pytest.mark.needs("profile")

PLAN: list[Line] = [Call("plan_things", {"brief": "-"})]
MEET: list[Line] = [Call("get_acquainted", {"brief": "-"})]
SHOP: list[Line] = [Call("handle_orders", {"brief": "-"})]
MILK = Call("add_todos", {"items": ["milk", "bread"]})
MUM = Call("add_reminder", {"when": "tomorrow at 9", "text": "call mum"})
NOTE = Call("keep_note", {"note": "the key is under the mat"})
DAD = Call("add_reminder", {"when": "every day at 10", "text": "call dad"})
TIMER = Call("add_reminder", {"when": "in 20 minutes"})
KETTLE = Call("watch_price", {"product": "kettle", "below": 20})
NURSE = Call("fill_form", {"experience": "nurse", "skills": ["care"]})


@dataclass(frozen=True)
class Case:
    """A tool's write, the state before it, and the words of its undo."""

    call: Call
    before: tuple[Call, ...] = ()
    answer: str = ""
    asks: bool = False


CASES: dict[str, list[Case]] = {
    "add_todos": [Case(MILK, (), "Taken back: 1. milk; 2. bread.")],
    "change_todo": [
        Case(Call("change_todo", {"number": 1, "text": "oat milk"}), (MILK,), "As it was: 1. milk."),
    ],
    "delete_todos": [
        Case(Call("delete_todos", {"numbers": [1, 2]}), (MILK,), "Back again: 1. milk; 2. bread.", asks=True),
    ],
    "add_reminder": [Case(MUM, (), "Taken back: 1. call mum")],
    "change_reminder": [
        Case(Call("change_reminder", {"number": 1, "when": "an hour later"}), (MUM,), "As it was: 1. call mum"),
    ],
    "delete_reminders": [
        Case(Call("delete_reminders", {"numbers": [1, 2]}), (MUM, DAD), "Back again: 1. call mum", asks=True),
    ],
    "skip_reminder": [
        Case(Call("skip_reminder", {"number": 1}), (MUM,), "Back again: 1. call mum"),
        Case(Call("skip_reminder", {"number": 1}), (DAD,), "As it was: 1. call dad"),
    ],
    "keep_note": [Case(NOTE, (), "Taken back: 1. the key is under the mat")],
    "delete_notes": [
        Case(Call("delete_notes", {"numbers": [1]}), (NOTE,), "Back again: 1. the key is under the mat"),
    ],
    "stop_timer": [Case(Call("stop_timer"), (TIMER,), "Back again: 1. timer: in 20 minutes")],
    "plan_day": [
        Case(
            Call("plan_day", {"plan": "tomorrow: dentist at 10, groceries"}),
            (),
            "Taken back: 1. groceries; 1. dentist: tomorrow",
        ),
    ],
    "set_time_zone": [
        Case(Call("set_time_zone", {"zone": "Asia/Tokyo"}), (MUM, DAD), "Taken back: time zone Asia/Tokyo."),
        Case(
            Call("set_time_zone", {"zone": "Asia/Tokyo"}),
            (Call("set_time_zone", {"zone": "Europe/Berlin"}),),
            "As it was: time zone Europe/Berlin.",
        ),
    ],
    "watch_price": [Case(KETTLE, (), "Taken back: Electric Kettle, under €20.00.")],
    "stop_price_watch": [
        Case(Call("stop_price_watch", {"product": "kettle"}), (KETTLE,), "Back again: Electric Kettle, under €20.00.")
    ],
    "change_language": [Case(Call("change_language", {"language": "ru"}), (), "As it was: language English.")],
    "fill_form": [
        Case(Call("fill_form", {"skills": ["care", "maths"]}), (NURSE,), "As it was: skills: care."),
    ],
}
"""By the name of every tool of ours that writes; a dialog that has a `test_undo.py` shows its own there."""


def writing() -> Iterator[tuple[Speaker, BaseTool]]:
    """Yield every tool of the application that writes, with its speaker."""
    speakers, _ = discover()
    for speaker in speakers:
        for writer in tools_of(speaker, speakers):
            if traits_of(writer).effect == "write" and writer.name != UNDO_LAST:
                yield speaker, writer


def cases() -> Iterator[Any]:
    """Yield every case with the speaker that has the tool."""
    for speaker, writer in writing():
        for number, case in enumerate(CASES.get(writer.name, [])):
            yield pytest.param(speaker.name, case, id=f"{speaker.name}.{writer.name}-{number}")


def test_every_writing_tool_can_be_taken_back_or_says_that_it_cannot() -> None:
    """A new tool that writes has an undo and a case here, or is declared irreversible."""
    for speaker, writer in writing():
        stated = traits_of(writer)
        assert stated.irreversible or stated.undo is not None, f"{writer.name} writes: give it an undo"
        shown = writer.name in CASES or (ROOT / "tests" / "dialogs" / speaker.name / "test_undo.py").exists()
        assert stated.irreversible or shown, f"{writer.name}: show here that it can be taken back"


@pytest.mark.parametrize(("speaker", "case"), [*cases()])
async def test_a_write_is_taken_back(chat: Chat, speaker: str, case: Case) -> None:
    """After a restart (each message is one) all is as it was; the answer says what came back; once more is nothing.

    "Redo" right after it does the same once more, for the next undo to take back.
    """
    begin: dict[str, list[Line]] = {"planner": PLAN, "profile": MEET, "orders": SHOP, "supervisor": []}
    before: list[Line] = [line for call in case.before for line in (call, "Noted.")]
    chat.expects(supervisor=begin[speaker], observer=["stay"] * 9)
    chat.expects(**{speaker: ["What is it?", *before, case.call, "Noted."]})
    await chat.says("let us begin with this matter", *["and here is one thing more for you"] * len(case.before))
    was = await belongings(chat)
    trace = await chat.says("and here is the last thing for today")
    assert ("confirm: " in trace) is case.asks
    if case.asks:
        trace = await chat.says("yes")
    written = await belongings(chat)
    assert written != was

    trace = await chat.says("undo")
    assert f"{speaker}: {case.answer}" in trace
    assert await belongings(chat) == was
    assert phrase("undo_again", "en", items="").rstrip(".") in await chat.says("redo, please")
    assert await belongings(chat) == written
    await chat.says("undo")
    assert await belongings(chat) == was
    again = await chat.says("undo")
    chat.script.queues.clear()  # how often the observer is asked differs from dialog to dialog
    if not case.before:
        assert again.endswith(phrase("undo_nothing", "en"))


async def belongings(chat: Chat) -> dict[str, Any]:
    """Return all that ann has, and how she is spoken to."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(("users", "ann"), limit=100)
        reminders = [reminder.values() for reminder in await assistant.services.get(Reminders).live("ann")]
        state = await assistant.state("ann") or {}
    # The last number that was given is counted, whatever is taken back.
    kept = {(item.namespace, item.key): item.value for item in items if "numbers" not in item.namespace}
    forms = {name: {key: value for key, value in form.items() if value} for name, form in state["forms"].items()}
    stored = {key: value for key, value in kept.items() if any(value.values())}
    return {
        "items": stored,
        "reminders": reminders,
        "forms": {k: v for k, v in forms.items() if v},
        "l": state["lang"],
    }


async def noted(chat: Chat, *calls: Call | list[Call], lang: str | None = None) -> str:
    """Let the planner make these calls, one a turn; return the trace."""
    texts = [f"and here comes thing number {number} for you" for number in range(len(calls))]
    chat.expects(supervisor=PLAN, planner=[line for call in calls for line in (call, "Noted.")], observer=["stay"] * 9)
    return await chat.says(*texts, lang=lang)


async def undone(chat: Chat, *texts: str, **more: str) -> str:
    """Take back what was written; return the trace."""
    trace = await chat.says(*(texts or ("undo",)), **more)
    chat.script.queues.clear()
    return trace


@pytest.mark.sqlite  # Two writes of one reply, side by side: their order is that of one machine.
async def test_undo_takes_back_message_by_message(chat: Chat) -> None:
    """All that one message has caused goes at once; the next undo takes the message before it."""
    await noted(chat, [MILK, MUM], Call("add_todos", {"items": ["eggs"]}))
    assert told("""
        user: undo
        planner: Taken back: 3. eggs.
        user: take that back
        planner: Taken back: 1. milk; 2. bread; 1. call mum
    """) in await undone(chat, "undo", "take that back")
    assert (await belongings(chat))["items"] == {}
    assert (await belongings(chat))["reminders"] == []


@pytest.mark.sqlite
@pytest.mark.parametrize(("text", "lang"), [
    ("Undo!", "en"),
    ("No, undo that!", "en"),
    ("I didn't want that", "en"),
    ("отмени", "ru"),
    ("нет, верни обратно", "ru"),
    ("不，撤销", "zh"),
])  # fmt: skip
async def test_undo_has_many_words(chat: Chat, text: str, lang: str) -> None:
    """In each language, without a model; a "no" before them does not belong to it."""
    await noted(chat, MILK, lang=lang)
    asked = len(chat.script.asked)
    assert phrase("undo_gone", lang, items="1. milk; 2. bread") in await undone(chat, text, lang=lang)
    assert len(chat.script.asked) == asked


@pytest.mark.sqlite
@pytest.mark.parametrize(("text", "lang"), [("bring it back", "en"), ("верни его", "ru"), ("放回去", "zh")])
async def test_who_wants_something_back_loses_nothing(chat: Chat, text: str, lang: str) -> None:
    """Such words bring back what was deleted; said again, or after an addition, they take nothing away."""
    await noted(chat, MILK, lang=lang)
    assert phrase("undo_nothing_gone", lang) in await undone(chat, text, lang=lang)
    chat.expects(observer=["stay"], planner=[Call("delete_todos", {"numbers": [2]}), "Gone."])
    await chat.says("bread is not needed, says Bob", lang=lang)
    assert phrase("undo_back", lang, items="2. bread") in await undone(chat, text, lang=lang)
    assert phrase("undo_nothing_gone", lang) in await undone(chat, text, lang=lang)
    assert len((await belongings(chat))["items"]) == 2


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("text", "lang", "yes"),
    [
        ("what did you just do?", "en", "yes"),
        ("что ты только что сделал?", "ru", "да"),
        ("你刚才做了什么", "zh", "是"),
    ],
)
async def test_what_was_just_done_is_told(chat: Chat, text: str, lang: str, yes: str) -> None:
    """With the offer to take it back, and without a model; what is not written is for the model to tell."""
    await noted(chat, MILK, lang=lang)
    asked = len(chat.script.asked)
    trace = await chat.says(text, yes, text, lang=lang)
    gone = phrase("undo_gone", lang, items="1. milk; 2. bread")
    assert phrase("undo_recalled", lang, items="1. milk; 2. bread") in trace
    assert trace.count(gone) == 2
    assert len(chat.script.asked) == asked
    chat.script.queues.clear()


async def test_a_word_of_cancelling_undoes_only_right_after_a_write(chat: Chat) -> None:
    """Later it is for the dialog."""
    await noted(chat, MILK)
    chat.expects(planner=["Which one?", "What?"], observer=["stay", "stay"])
    await chat.says("by the way there is one more thing", "cancel that")
    assert len((await belongings(chat))["items"]) == 2
    chat.script.queues.clear()


async def test_after_a_day_it_is_too_late(chat: Chat) -> None:
    """A write from more than a day ago stays."""
    await noted(chat, MILK)
    chat.now = lambda: time.time() + DAY_MS / 1000 + 1
    assert phrase("undo_nothing", "en") in await undone(chat)
    assert len((await belongings(chat))["items"]) == 2


async def test_only_ones_own_and_only_here(chat: Chat) -> None:
    """Another person in the thread, and another thread of the same person, take nothing back."""
    await noted(chat, MILK)
    assert phrase("undo_nothing", "en") in await undone(chat, user="eve")
    assert phrase("undo_nothing", "en") in await undone(chat, thread="elsewhere", user="ann")
    assert len((await belongings(chat))["items"]) == 2


@pytest.mark.parametrize("when", ["in 30 minutes", "every day at {far}:00"])
async def test_what_has_rung_does_not_ring_again_by_an_undo(chat: Chat, when: str) -> None:
    """Neither one that was put off after it rang, nor one that has rung at the time that is taken back."""
    moved = Call("change_reminder", {"number": 1, "when": "by 20 minutes"})
    # What comes every day must not come within the two hours that pass here.
    when = when.format(far=(time.localtime().tm_hour + 12) % 24)
    await noted(chat, Call("add_reminder", {"when": "in 10 minutes", "text": "stretch"}))
    await ringing(chat, minutes=11)
    await noted(chat, moved)
    answer = await undone(chat)
    assert "As it was: 1. stretch: " in answer
    assert "(has rung), and will not ring again." in answer
    assert await ringing(chat, minutes=60) == []

    await noted(
        chat, Call("add_reminder", {"when": when, "text": "tea"}), Call("change_reminder", {"when": "in 40 minutes"})
    )
    assert await ringing(chat, minutes=101) == ["tea"]
    assert "As it was: 2. tea: " in await undone(chat)
    assert await ringing(chat, minutes=102) == []


async def ringing(chat: Chat, *, minutes: int) -> list[str]:
    """Let it be so many minutes after the test began; return what rings."""
    chat.now = lambda: time.time() + minutes * 60
    async with chat.assistant() as assistant:
        reminders = assistant.services.get(Reminders)
        due = await reminders.due(round(chat.now() * 1000), "ann", "*")
        texts = [await reminders.text_of(it, is_late=False) or "" for it in due]
        for it in due:
            await reminders.rang(it)
    return [text.removeprefix("⏰ ") for text in texts]


async def test_where_others_read_along_nothing_is_named(chat: Chat) -> None:
    """In a group an undo, and the question before a deletion, tell how many things there are and not which."""
    await noted(chat, MILK)
    chat.expects(supervisor=["Hello."], planner=[Call("delete_todos", {"numbers": [1, 2]}), "Done."], observer=["stay"])
    await chat.says("hello to all of you", user="eve")
    trace = await chat.says("please take all of that off my list", "yes", user="ann")
    assert "confirm: Delete from your list (numbers: 1, 2)?" in trace
    assert "Deleted: 1, 2." in trace
    trace += await undone(chat, user="ann")
    assert trace.endswith(f"planner: {phrase('undo_back', 'en', items=phrase('undo_count', 'en', count=2))}")
    assert "milk" not in trace
    assert len((await belongings(chat))["items"]) == 2


async def test_what_was_changed_since_is_left(chat: Chat) -> None:
    """An undo overwrites nothing that came from elsewhere, and says so."""
    await noted(chat, MILK)
    chat.expects(supervisor=PLAN, planner=[Call("change_todo", {"number": 1, "text": "oat milk"}), "Noted."])
    await chat.says("oat milk rather", thread="elsewhere", user="ann")
    trace = await undone(chat)
    assert "Taken back: 2. bread.\nChanged since, so left as it is: 1. oat milk." in trace


async def test_no_number_is_given_again(chat: Chat) -> None:
    """A restored entry has its own number: an entry made meanwhile, also on another device, has another one."""
    await noted(chat, MILK, Call("delete_todos", {"numbers": [2]}))
    chat.expects(supervisor=PLAN, planner=[Call("add_todos", {"items": ["wine"]}), "Noted."])
    await chat.says("wine", thread="elsewhere", user="ann")
    assert "Back again: 2. bread." in await undone(chat)
    numbers = {item["text"]: item["number"] for item in (await belongings(chat))["items"].values()}
    assert numbers == {"milk": 1, "bread": 2, "wine": 3}


async def test_a_wrong_switch_takes_back_what_it_wrote(chat: Chat) -> None:
    """A "no, go on" says what the wrong dialog has written, and takes it back."""
    chat.expects(
        supervisor=MEET,
        profile=["What do you like?", "…", "Milk it is."],
        observer=["planner"],
        planner=[MILK, "Noted."],
    )
    await chat.says("let us get acquainted")
    await chat.says("please put fresh milk and warm bread on my list")
    trace = await undone(chat, "no, go on")
    assert "supervisor: Taken back: 1. milk; 2. bread.\nprofile: Milk it is." in trace
    assert (await belongings(chat))["items"] == {}


async def test_undo_after_a_switch_that_wrote_means_the_write(chat: Chat) -> None:
    """No dialog hears the message of that write once more."""
    chat.expects(supervisor=MEET, profile=["What do you like?"], observer=["planner"], planner=[MILK, "Noted."])
    await chat.says("let us get acquainted", "please put fresh milk and warm bread on my list")
    assert (await undone(chat)).endswith(f"planner: {phrase('undo_gone', 'en', items='1. milk; 2. bread')}")
    assert (await belongings(chat))["items"] == {}


async def test_what_an_observer_remembered(chat: Chat) -> None:
    """The goal that was noted beside the profile goes with what the same message wrote down."""
    intent = '{"intent": "work as a nurse"}'
    chat.expects(supervisor=MEET, profile=["What do you do?", NURSE, "Noted."], observer=["stay", intent])
    await chat.says("let us get acquainted", "I am looking for a job as a nurse in a clinic")
    trace = await undone(chat)
    assert "Taken back: experience: nurse; skills: care; professional goal: work as a nurse." in trace
    assert (await belongings(chat))["items"] == {}


ROOMS: list[str] = []
FULL = "The hotel is closed."


async def leave(done: Done, runtime: Runtime) -> str:
    """Give a room back."""
    if done.args["room"] == "suite":
        raise Refused(FULL)
    ROOMS.remove(done.args["room"])
    return f"Room {done.args['room']} is free again."


@traits(effect="write", key=("room",), undo=leave)
@tool
async def book(room: str, runtime: Runtime) -> str:
    """Book a room."""
    ROOMS.append(room)
    return "Booked."


@traits(effect="write", irreversible=True)
@tool
async def shout(text: str, runtime: Runtime) -> str:
    """Shout."""
    return "Done."


@pytest.fixture
def hotel(chat: Chat) -> None:
    """Give the planner these tools."""
    chat.speakers = changed(chat.speakers, "planner", book, shout)
    ROOMS.clear()


@pytest.mark.usefixtures("hotel")
async def test_a_tool_names_what_takes_it_back(chat: Chat) -> None:
    """The function runs once; then the same write is a new one again, though it has a key."""
    await noted(chat, Call("book", {"room": "7"}), Call("book", {"room": "7"}))
    assert ROOMS == ["7"]
    assert "planner: Room 7 is free again." in await undone(chat, "undo", "yes")
    assert "Not done again – book" in await undone(chat, "redo")
    assert ROOMS == []
    chat.expects(planner=[Call("book", {"room": "7"}), "Booked."], observer=["stay"])
    await chat.says("and now that same room once more please")
    assert ROOMS == ["7"]


@pytest.mark.usefixtures("hotel")
async def test_what_cannot_be_taken_back_is_said(chat: Chat) -> None:
    """A refusal is told with its reason; an irreversible write asks first, and is told."""
    await noted(chat, Call("book", {"room": "suite"}))
    assert f"this cannot be taken back. {FULL}" in await undone(chat)
    assert ROOMS == ["suite"]
    chat.expects(planner=[Call("shout", {"text": "hey"}), "Done."], observer=["stay"])
    assert "confirm: shout (text: “hey”)? [yes | no]" in await chat.says("shout something loud over the fence")
    await chat.says("yes")
    assert "shout (text: “hey”): this cannot be taken back." in await undone(chat)
