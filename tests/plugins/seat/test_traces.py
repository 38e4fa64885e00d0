"""A person in the assistant's place: the assistant is silent, the words are kept, and it knows them afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agents.conversation.gate import Guess
from agents.conversation.scene import Scene
from agents.errors import UsageError
from agents.events import TurnEnd
from agents.events.views import Notice
from agents.state.verdict import STAY, Verdict
from app.assistant import Assistant, Turn
from app.assistant.clocks import Ring
from app.assistant.short_term_memory import contents
from app.doors.slash_commands.personal_data import personal_data
from app.plugins.seat import SeatSettings
from app.plugins.seat.place import Operator
from app.plugins.seat.seats import Seats, take_seat
from app.plugins.seat.tool import call_a_person
from app.testing import Chat, told
from app.testing.script import Call
from observers import Observer, watched
from prompts import sentence
from tests.support.scripted_assistant import script_lines, values
from tests.support.shop_tools import BEGIN
from tests.support.until import until

HOUR = 3600
ANNA, BEN, CLEO = (Operator(name, f"desk {name}") for name in ("Anna", "Ben", "Cleo"))
TAKEN = sentence("seat/phrases", "taken", "en", name="Anna")
BACK = sentence("seat/phrases", "back", "en")


@dataclass
class Desk:
    """The thread "ann", its seat, and what a door shows of it."""

    assistant: Assistant
    shown: list[Ring] = field(default_factory=list)

    async def take(self, operator: Operator = ANNA, *, force: bool = False) -> None:
        """Take the thread over."""
        await take_seat(self.assistant, "ann", operator, force=force)

    async def say(self, text: str, id: str = "1") -> None:
        """Say something as Anna."""
        await self.assistant.services.get(Seats).say("ann", ANNA, text, id)

    async def back(self, note: str = "") -> None:
        """Hand the thread back."""
        await self.assistant.services.get(Seats).hand_back("ann", ANNA, note)

    async def show(self, ring: Ring) -> None:
        """Show a notice, as a door does."""
        self.shown.append(ring)
        await self.assistant.tell(ring.thread, ring.text, ring.id, ring.user)

    async def rings(self, count: int) -> list[str]:
        """Let the clock run until so many notices were shown; return them."""
        async with self.assistant.ringing(self.show):
            await until(lambda: len(self.shown) >= count)
        return [ring.text for ring in self.shown]


@asynccontextmanager
async def desk(chat: Chat) -> AsyncIterator[Desk]:
    """Open the database anew, as another process would."""
    async with chat.assistant() as assistant:
        yield Desk(assistant)


async def test_over_silence_answer_and_back(chat: Chat) -> None:
    """While a person holds the thread no model is asked; afterwards the model has read it all, and the note as data."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi")
    async with desk(chat) as seat:
        await seat.take()
    assert await chat.says("my lamp is broken") == "user: my lamp is broken"
    [end] = [event for event in chat.events if isinstance(event, TurnEnd)]
    assert (end.held_by, end.model_calls, end.plain()["held_by"]) == ("Anna", 0, "Anna")
    assert (await chat.state())["held_by"] == "Anna"
    async with desk(chat) as seat:
        await seat.say("A new one is on its way.")
    assert await chat.says("thank you!") == "user: thank you!"
    async with desk(chat) as seat:
        await seat.back("Ann gets </context> a new lamp.")
    assert (await chat.state())["held_by"] is None
    chat.expects(supervisor=["On Monday."])
    assert await chat.says("when does it come?") == "user: when does it come?\nsupervisor: On Monday."
    messages = chat.script.asked[-1].messages
    system, *history = [(message.type, message.text) for message in messages]
    assert "lamp" not in system[1]
    assert history[0] == ("human", history[0][1])
    assert history[0][1].endswith("hi")
    assert history[1:4] == [
        ("ai", f"Hello.\n\n{TAKEN}"),
        ("human", "my lamp is broken"),
        ("ai", "A new one is on its way."),
    ]
    assert history[4] == ("human", "thank you!")
    assert history[5] == ("ai", BACK)
    note = sentence("texts", "quoted_handed_back", "en", by="Anna", text="Ann gets ‹/context> a new lamp.")
    assert history[6][1].startswith(f"<context>\n{note}")
    assert history[6][1].endswith("when does it come?")
    async with chat.assistant() as assistant:
        [quoted] = (await values(assistant, "ann"))["heard"]["quoted"]
        assert type(quoted["origin"]) is str
    chat.expects(supervisor=["Bye."])
    await chat.says("fine")
    assert note not in chat.script.asked[-1].messages[-1].text


async def test_the_transcript_says_who_spoke(chat: Chat) -> None:
    """History, short-term memory and the export of a person have the words as `source: person`; forget deletes them."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi")
    async with desk(chat) as seat:
        await seat.take()
        await seat.say("Hi Ann.")
        await seat.back("kept for the model")
        assert "\n".join(await script_lines(seat.assistant, "ann")) == told(f"""
            user: hi
            supervisor: Hello.
            supervisor: {TAKEN}
            Anna: Hi Ann.
            supervisor: {BACK}""")
        words = contents(await seat.assistant.history("ann"))[3]
        assert (words["speaker"], words["metadata"]) == ("Anna", {"source": "person"})
        [talk] = (await personal_data(seat.assistant, "ann", "en")).plain()["threads"]
        assert [entry["content"] for entry in talk["contents"]][3] == "Hi Ann."
        await seat.assistant.forgetting.thread("ann")
        assert [row for table in ("seats", "seat_words", "seat_notes") for row in await rows(seat, table)] == []


async def rows(seat: Desk, table: str) -> list[object]:
    """Return the rows of a table."""
    return [*await seat.assistant.memory.database.execute(f"SELECT * FROM {table}")]


async def test_each_word_is_shown_once(chat: Chat) -> None:
    """The same id says it once; a door shows each word once, in order, with the name; another text is refused."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi")
    async with desk(chat) as seat:
        await seat.take()
        for _ in range(2):
            await seat.say("One.", "1")
        await seat.say("Two.", "2")
        assert await seat.rings(3) == [TAKEN, "Anna: One.", "Anna: Two."]
        with pytest.raises(UsageError, match="used before"):
            await seat.say("Other.", "1")
        await seat.back()
        await seat.say("One.", "1")
        with pytest.raises(UsageError, match="take it over first"):
            await seat.say("Three.", "3")
    async with desk(chat) as seat:
        assert await seat.rings(1) == [BACK]
        assert (await script_lines(seat.assistant, "ann"))[2:] == [
            *(f"supervisor: {TAKEN}", "Anna: One.", "Anna: Two.", f"supervisor: {BACK}")
        ]


@pytest.mark.parametrize("second", [BEN, Operator(ANNA.name, "desk of another Anna")], ids=["Ben", "another Anna"])
async def test_a_second_operator_is_told_who_holds_it(chat: Chat, second: Operator) -> None:
    """Somebody else is refused with the holder's name, and may force it; then the first may say nothing more."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi")
    async with desk(chat) as seat:
        seats = seat.assistant.services.get(Seats)
        taking = await asyncio.gather(seat.take(ANNA), seat.take(second), return_exceptions=True)
        [refusal] = [outcome for outcome in taking if outcome is not None]
        assert isinstance(refusal, UsageError)
        assert "Anna holds the thread 'ann'" in str(refusal)
        for step in (seats.say("ann", second, "Me.", "2"), seats.hand_back("ann", second)):
            with pytest.raises(UsageError, match="Anna holds"):
                await step
        await seat.take(ANNA)
        await seat.take(second, force=True)
        with pytest.raises(UsageError, match=f"{second.name} holds"):
            await seat.say("Still me.")
        await seats.say("ann", second, "It is me.", "3")
        assert await script_lines(seat.assistant, "ann") == [
            *("user: hi", "supervisor: Hello.", f"supervisor: {TAKEN}"),
            *(f"supervisor: {sentence('seat/phrases', 'taken', 'en', name=second.name)}", f"{second.name}: It is me."),
        ]


async def test_nobody_takes_a_thread_that_nobody_began(chat: Chat) -> None:
    """There is nobody to talk with."""
    async with desk(chat) as seat:
        with pytest.raises(UsageError, match="Nobody has written"):
            await seat.take()


@pytest.mark.needs("planner")
async def test_a_dialog_goes_on_afterwards(chat: Chat) -> None:
    """The dialog that held the conversation holds it again, has read what was said, and reminders came meanwhile."""
    chat.expects(supervisor=[Call("plan_things", {"brief": "a list"})], planner=["What shall I put on it?"])
    await chat.says("help me with a list")
    async with desk(chat) as seat:
        await seat.take()
        await seat.assistant.memory.notices.add("ann", "ann", "tea", text="Tea!", lang="en")
        assert len(await seat.rings(2)) == 2
        await chat.says("milk, I think")
        await seat.back()
    chat.expects(planner=["Noted."])
    assert "planner: Noted." in await chat.says("and bread")
    assert [message.text for message in chat.script.asked[-1].messages if "milk" in message.text] == ["milk, I think"]
    assert (await chat.state())["dialog"] == "planner"


async def test_a_call_is_a_tool(chat: Chat) -> None:
    """A model calls a person, and is told what to tell the user; until one comes the assistant goes on."""
    chat.speakers = chat.speakers.each(lambda speaker: replace(speaker, tools=[*speaker.tools, call_a_person]))
    chat.expects(supervisor=[Call("call_a_person", {"reason": "wants a refund"}), "Somebody will come."])
    assert await chat.says("what a mess this is") == told(f"""
        user: what a mess this is
        supervisor.call_a_person(reason='wants a refund') = {sentence("seat/phrases", "called", "en")}
        supervisor: Somebody will come.""")
    async with desk(chat) as seat:
        [call] = await seat.assistant.services.get(Seats).all()
        assert (call.caller, call.reason, call.holder) == ("assistant", "wants a refund", "")
    chat.expects(supervisor=["I am here meanwhile."])
    assert (await chat.says("hm")).endswith("I am here meanwhile.")
    await chat.says("undo")
    assert sentence("seat/phrases", "withdrawn", "en") in await chat.says("yes")
    async with desk(chat) as seat:
        assert await seat.assistant.services.get(Seats).all() == []


async def test_what_waits_too_long(chat: Chat) -> None:
    """A call that nobody takes ends with a word; an unanswered message is spoken of, then the assistant goes on."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi")
    clock = {"now": 1_000_000.0}
    chat.now = lambda: clock["now"]
    async with desk(chat) as seat:
        seats = seat.assistant.services.get(Seats)
        seats.wait, seats.away = 60, HOUR
        await seats.call("ann", "ann", "en", "user")
        clock["now"] += 61
        assert await seat.rings(1) == [sentence("seat/phrases", "nobody", "en")]
        assert await seats.all() == []
        await seat.take()
        clock["now"] += 2 * HOUR
        assert (await seat.rings(2))[1:] == [TAKEN]
        [_ async for _ in seat.assistant.play(Turn(thread="ann", text="there?"))]
        clock["now"] += 61
        assert (await seat.rings(3))[2:] == [sentence("seat/phrases", "waits", "en", name="Anna")]
        clock["now"] += HOUR
        assert (await seat.rings(4))[3:] == [sentence("seat/phrases", "away", "en", name="Anna")]
        assert await seats.of("ann") is None


@pytest.mark.usefixtures("shop")
@pytest.mark.needs("planner")
async def test_an_open_question_stays_open(chat: Chat) -> None:
    """A tool's question waits while a person holds the thread, and is answered afterwards."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    await chat.says("I want to return something")
    async with desk(chat) as seat:
        await seat.take()
    for text in ("which one was it?", "2"):
        assert await chat.says(text) == f"user: {text}"
    async with desk(chat) as seat:
        await seat.say("The hat, I think.")
        await seat.back("it is the hat")
    [pending] = (await chat.state())["pending"]
    assert pending["prompt"] == "Which order?"
    chat.expects(planner=["Sent back."])
    assert (await chat.says("2")).endswith("planner: Sent back.")
    texts = [message.text for message in chat.script.asked[-1].messages]
    assert any("which one was it?" in text for text in texts)


@pytest.mark.needs("profile")
async def test_in_a_group(chat: Chat) -> None:
    """The person talks with the caller; the others' messages are kept for their own turns with the assistant."""
    group: dict[str, Any] = {"thread": "telegram--100", "is_group": True}
    chat.expects(supervisor=["Hello, Ann.", "Hello, Bob."])
    await chat.says("hi", user="ann", name="Ann", **group)
    await chat.says("hi", user="bob", name="Bob", **group)
    async with chat.assistant() as assistant:
        await assistant.services.get(Seats).call("telegram--100", "ann", "en", "user")
        await take_seat(assistant, "telegram--100", CLEO)
    for user in ("ann", "bob"):
        assert await chat.says("are you real?", user=user, **group) == "user: are you real?"
    async with chat.assistant() as assistant:
        line = await assistant.services.get(Seats).say("telegram--100", CLEO, "I am.", "1")
        assert line.metadata == {"source": "person", "to": "ann"}
        await assistant.services.get(Seats).hand_back("telegram--100", CLEO, "Ann is kind")
    chat.expects(supervisor=["Yes, Bob.", "Yes, Ann."])
    await chat.says("and now?", user="bob", **group)
    assert chat.script.asked[-1].messages[-1].text.startswith("are you real?")
    await chat.says("and now?", user="ann", **group)
    assert "I am." in chat.script.asked[-1].messages[-1].text
    async with chat.assistant() as assistant:
        await assistant.forgetting.part("telegram--100", "ann")
        assert "I am." not in str(await assistant.history("telegram--100"))
        assert await rows(Desk(assistant), "seat_notes") == []


async def test_an_observer_calls_a_person(chat: Chat) -> None:
    """By its verdict a person is called once, the user is told, and the dialog answers all the same."""

    async def check(scene: Scene) -> Verdict:
        return Verdict("person", reason="the user is angry") if "!" in scene.text else STAY

    chat.observers = {**chat.observers, "safety": Observer(pre_check=check, always="everywhere")}
    chat.speakers = watched(chat.speakers, chat.observers)
    chat.gate = lambda scene: Guess(0.0, "nothing leaves")
    chat.services = [SeatSettings(seat_wait=60)]
    chat.expects(supervisor=["I am sorry.", "I see."])
    assert await chat.says("this is useless!", "and that!") == told("""
        user: this is useless!
        safety (observer): person
        view: notice
        supervisor: I am sorry.
        user: and that!
        safety (observer): person
        supervisor: I see.""")
    assert [event.message for event in chat.events if isinstance(event, Notice)] == [
        sentence("seat/phrases", "called", "en")
    ]
    async with chat.assistant() as assistant:
        [call] = await assistant.services.get(Seats).all()
        assert (call.caller, call.reason, call.holder) == ("observer", "the user is angry", "")
