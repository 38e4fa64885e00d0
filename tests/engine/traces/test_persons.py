"""Several people in one thread: each has their own dialogs, forms and questions, and nobody answers for another."""

import pytest

from agents.events import Event, Interrupt, trace
from app.assistant import Turn
from app.testing import Chat, told
from app.testing.script import Call
from tests.support.shop_tools import BEGIN

pytestmark = pytest.mark.needs("planner", "profile")

GROUP = "telegram--100777"


async def says(chat: Chat, user: str, *texts: str | None, **more: object) -> str:
    """Let one of the group say something; return the trace."""
    events: list[Event] = []
    async with chat.assistant() as assistant:
        for text in texts:
            fields: dict[str, object] = {"is_group": True, "name": user.title(), **more}
            turn = Turn(thread=GROUP, text=text, user=user, **fields)  # type: ignore[arg-type]
            events += [event async for event in assistant.play(turn)]
    chat.events = events
    return trace(events)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("word", ["2", "the red one", "yes"])
async def test_only_the_one_who_was_asked_answers(chat: Chat, word: str) -> None:
    """Another person's message goes on as their own; the question stays, across processes too."""
    chat.expects(supervisor=[*BEGIN, "That was not put to you."], planner=[Call("choose_order"), "Sent back."])
    await says(chat, "ann", "I want to return something")

    assert told(f"""
        user: {word}
        supervisor: That was not put to you.
    """) == await says(chat, "bob", word)
    assert told("""
        user: 2
        planner.choose_order() = {"id":1,"name":"Red hat","price":15.0}
        planner: Sent back.
    """) == await says(chat, "ann", "2")


@pytest.mark.usefixtures("shop")
async def test_a_tap_of_another_person_answers_nothing(chat: Chat) -> None:
    """Also one that was made up with the mark of the question, and the other's name."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    await says(chat, "ann", "I want to return something")
    [asked] = [event for event in chat.events if isinstance(event, Interrupt)]

    async with chat.assistant() as assistant:
        assert await assistant.question(GROUP, "bob") is None
        assert not await assistant.fits(GROUP, "bob", "2")
        assert await assistant.asked(GROUP) == ["ann"]
    assert "That question is no longer open" in await says(chat, "bob", "2", source="choice")
    async with chat.assistant() as assistant:
        assert (await assistant.question(GROUP, "ann") or asked).prompt == "Which order?"
    assert "Red hat" in await says(chat, "ann", "2", source="choice")


async def test_two_people_are_in_two_dialogs(chat: Chat) -> None:
    """Each has a dialog and a form of their own; the models see who writes, and what others said aloud."""
    meet, plan = Call("get_acquainted", {"brief": "-"}), Call("plan_things", {"brief": "-"})
    chat.expects(
        supervisor=[meet, plan],
        profile=["What do you do?", Call("fill_form", {"experience": "nurse"}), "And your skills?"],
        planner=["What shall I put down?"],
    )
    await says(chat, "ann", "hello, I am new here")
    await says(chat, "bob", "I have things to do")
    await says(chat, "ann", "I have been a nurse for ten years")

    async with chat.assistant() as assistant:
        ann, bob = await assistant.state(GROUP, "ann") or {}, await assistant.state(GROUP, "bob") or {}
        assert (ann["dialog"], bob["dialog"]) == ("profile", "planner")
        assert (ann["forms"]["profile"]["experience"], bob["forms"]) == ("nurse", {})
        lines = [(line.speaker, line.text) for line in await assistant.history(GROUP) if line.role == "user"]
        assert [speaker for speaker, _ in lines] == ["ann", "bob", "ann"]
    of_ann = [asked.messages for asked in chat.script.asked if asked.role == "profile"][-1]
    assert "Ann writes this." in of_ann[-3].text
    assert "Bob" not in str(of_ann)
    of_bob = [asked.messages for asked in chat.script.asked if asked.role == "supervisor"][-1]
    assert "Bob writes this." in of_bob[-1].text
    assert "Ann: hello, I am new here" in of_bob[-1].text
    assert "Ann" not in of_bob[0].text


async def test_one_person_sees_none_of_it(chat: Chat) -> None:
    """In a thread of one person no prompt has a character more."""
    chat.expects(supervisor=["Hello."])
    await chat.says("hi there")

    [asked] = chat.script.asked
    assert "writes this" not in asked.prefix
    async with chat.assistant() as assistant:
        assert [line.metadata for line in await assistant.history("ann")] == [{"source": "message"}, {"source": "llm"}]


async def test_a_thread_that_somebody_joins_keeps_what_was_said_before(chat: Chat) -> None:
    """A newcomer in a thread of one person learns nothing of the messages from before."""
    chat.expects(supervisor=["Noted.", "Hello Bob.", "Welcome back.", "I know."])
    await chat.says("my secret is plum", user="ann")
    await chat.says("hello there", user="bob")
    assert "plum" not in chat.script.asked[-1].prefix
    await chat.says("so you are back", user="ann")
    assert "plum" in chat.script.asked[-1].prefix
    await chat.says("what is new", user="bob")
    assert "ann: so you are back" in chat.script.asked[-1].prefix
    assert "plum" not in chat.script.asked[-1].prefix


async def test_what_somebody_else_has_waiting_is_not_played(chat: Chat) -> None:
    """Bob's message came before Ann's and was not begun: it is answered in a turn of Bob's."""
    chat.expects(supervisor=["Hello Ann.", "Hello Bob."])
    async with chat.assistant() as assistant:
        await assistant.receive(Turn(thread=GROUP, text="I am Bob", user="bob", id="b", is_group=True))
    assert told("""
        user: I am Ann
        supervisor: Hello Ann.
    """) == await says(chat, "ann", "I am Ann")
    async with chat.assistant() as assistant:
        assert [entry.text for entry in await assistant.memory.transcript.open_entries(GROUP)] == ["I am Bob"]
    assert "Hello Bob." in await says(chat, "bob", "I am Bob", id="b")
