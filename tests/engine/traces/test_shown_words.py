"""A model's words are shown below the views of its tools, streamed, and kept to the letter."""

import json
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from agents.errors import ContractError
from agents.events import Error, Event, Message, ModelStart, Token, ToolEnd
from agents.events.views import CardList, Document, Entry, Link, Notice, View
from agents.state.message_notes import notes_of
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, result
from agents.toolkit.traits import Done, traits
from app.assistant import Turn
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.scripted_assistant import Gate

pytestmark = pytest.mark.needs("planner")
PLAN = Call("plan_things", {"brief": "see below"})
BEGIN: list[Line] = [PLAN]
HAND_BACK, JOT = Call("hand_back"), Call("jot", {"thing": "milk"})


@traits(view="cards")
@tool(response_format="content_and_artifact")
async def find(thing: str, runtime: Runtime) -> Answer:
    """Find things."""
    entries = [Entry(f"{colour} {thing}") for colour in ("red", "blue")]
    return result(message="two", view=CardList(title=thing, entries=entries))


@traits(effect="write", view="link")
@tool(response_format="content_and_artifact")
async def book(thing: str, runtime: Runtime) -> Answer:
    """Book a thing."""
    return result(message=f"{thing} is booked", view=Link(title=thing, url="https://shop.example/1"))


@traits(effect="write", confirm="always")
@tool
async def move(street: str) -> str:
    """Change the address."""
    return f"It goes to {street}."


@traits(view="document", answers=True)
@tool(response_format="content_and_artifact")
async def hand_out(runtime: Runtime) -> Answer:
    """Give the user the price list."""
    return result(message="It is handed out.", view=Document(title="prices.txt", content="hat 1\ncoat 2"))


async def struck(done: Done, _: Runtime) -> str:
    """Strike a thing off."""
    return f"{done.args['thing']} is struck off."


@traits(effect="write", undo=struck)
@tool
async def jot(thing: str) -> str:
    """Jot a thing down."""
    return f"{thing} is noted"


@tool
async def weigh(thing: str) -> str:
    """Weigh a thing."""
    return "one pound"


TOOLS: Sequence[BaseTool] = [find, book, move, hand_out, jot, weigh]


@pytest.fixture(autouse=True)
def tools(chat: Chat) -> None:
    """Give the planner a few tools."""
    chat.speakers = changed(chat.speakers, "planner", tools=TOOLS)


def screen(chat: Chat) -> list[str]:
    """Return the user's screen, a text for each view, question and message."""
    return [event.text for event in chat.events if isinstance(event, Message)]


async def replies(chat: Chat) -> list[AIMessage]:
    """Return the planner's replies as its history has them."""
    return [message for message in await chat.messages("planner") if isinstance(message, AIMessage)]


async def test_words_beside_a_call_are_shown_with_what_they_are_about(chat: Chat) -> None:
    """List, sentence, question: none of them hides another, and the model is told what is true."""
    said = "There is no green coat. The address I change now."
    planner: list[Line] = [Call("find", {"thing": "coat"}), [said, Call("move", {"street": "Oak Street"})], "Done."]
    chat.expects(supervisor=BEGIN, planner=planner)
    question = "move (street: “Oak Street”)?"
    await chat.says("the green coat, and send it to Oak Street")
    assert screen(chat) == ["coat\n1. red coat\n2. blue coat", said, f"{question}\nYes or no?"]

    assert "planner: Done." in await chat.says("yes")
    assert screen(chat) == ["Done."]
    moved = chat.script.asked[-1].messages[-1].text
    assert moved == "\n".join(
        [
            phrase("said_beside_a_call", "en", text=said),
            "It goes to Oak Street.",
            phrase("user_asked", "en", question=question),
            "Only you see it.",
        ]
    )


async def test_every_write_is_shown_and_of_reads_the_last_round(chat: Chat) -> None:
    """Lookups on the way are not shown; writes are, in their order."""
    calls = [Call("book", {"thing": "hat"}), Call("find", {"thing": "shoe"}), Call("book", {"thing": "coat"})]
    chat.expects(supervisor=BEGIN, planner=[*calls, "Both are booked."])
    await chat.says("book a hat and a coat")

    assert [event.title for event in chat.events if isinstance(event, View)] == ["hat", "coat"]
    assert screen(chat)[-1] == "Both are booked."
    looked_up = next(m for m in await chat.messages("planner") if isinstance(m, ToolMessage) and m.name == "find")
    assert notes_of(looked_up)["seen"] == "with_words"


async def test_a_view_that_is_the_answer_stands_in_place_of_words(chat: Chat) -> None:
    """The model is told so; its words are kept as left out, and its history has what the user saw."""
    chat.expects(supervisor=BEGIN, planner=[Call("hand_out"), "Here you are: hat 1, coat 2.", "A hat is cheapest."])
    chat.expects(observer=["stay"])
    await chat.says("the prices")

    assert screen(chat) == ["hat 1\ncoat 2"]
    assert not [event for event in chat.events if isinstance(event, Token) and event.speaker == "planner"]
    [shown] = [event for event in chat.events if isinstance(event, Message)]
    assert (shown.shown, shown.original) == (True, "Here you are: hat 1, coat 2.")
    reply = (await replies(chat))[-1]
    assert (reply.text, notes_of(reply)["left_out"]) == ("hat 1\ncoat 2", "Here you are: hat 1, coat 2.")
    assert chat.script.asked[-1].messages[-1].text == (
        "It is handed out.\nThe user sees this card in place of your words."
    )

    await chat.says("and what of all these is the cheapest one?")
    assert "Here you are" not in "".join(message.text for message in chat.script.asked[-1].messages)


@pytest.mark.parametrize(
    "calls",
    [[[Call("hand_out"), Call("weigh", {"thing": "hat"})]], [Call("hand_out"), Call("weigh", {"thing": "hat"})]],
    ids=["side by side", "one after the other"],
)
async def test_words_about_another_call_are_shown_beside_such_a_view(chat: Chat, calls: list[Line]) -> None:
    """Only where nothing else was asked for may a view stand in place of words; the card that was promised stays."""
    chat.expects(supervisor=BEGIN, planner=[*calls, "It weighs a pound."])
    await chat.says("the prices, and what does it weigh?")
    assert screen(chat) == ["hat 1\ncoat 2", "It weighs a pound."]


async def test_a_view_needs_no_words(chat: Chat) -> None:
    """A model that adds nothing is not asked again; its history has what the user saw."""
    chat.expects(supervisor=BEGIN, planner=[Call("find", {"thing": "hat"}), ""])
    await chat.says("hats")
    assert screen(chat) == ["hat\n1. red hat\n2. blue hat"]
    assert (await replies(chat))[-1].text == screen(chat)[0]


async def test_silence_after_a_result_that_nobody_saw_is_broken(chat: Chat) -> None:
    """A view of an earlier round excuses no silence: the model is asked once more."""
    calls: list[Line] = [Call("book", {"thing": "hat"}), Call("weigh", {"thing": "hat"}), "", "A pound."]
    chat.expects(supervisor=BEGIN, planner=calls)
    await chat.says("book a hat; what does it weigh?")
    assert screen(chat)[1:] == ["A pound."]


async def test_what_was_done_is_shown_where_the_model_fails(chat: Chat) -> None:
    """The view of a write and, in words, a write without a view stand above the apology, and in the transcript."""
    planner: list[Line] = [[Call("book", {"thing": "hat"}), Call("jot", {"thing": "milk"})], ConnectionRefusedError()]
    chat.expects(supervisor=BEGIN, planner=planner)
    await chat.says("book a hat, and jot down milk", id="m")
    booked, done = "hat: https://shop.example/1", phrase("done_until_then", "en", what="jot (thing: “milk”)")
    ends = [event for event in chat.events if isinstance(event, View | Message | Error)]
    assert [event.type for event in ends] == ["view", "message", "view", "error"]
    assert (screen(chat), [event.message for event in ends if isinstance(event, Notice)]) == ([booked], [done])

    chat.expects(planner=["Both are done."])
    await chat.says("book a hat, and jot down milk", id="m")
    assert screen(chat) == [booked, "Both are done."]
    async with chat.assistant() as assistant:
        lines = [line.text for line in await assistant.history("ann") if line.role == "assistant"]
    assert lines.count(booked) == 1


async def test_what_was_done_is_told_where_the_user_stops(chat: Chat) -> None:
    """A write whose result no model has read is known as done to the user, and to the model that goes on."""
    chat.expects(supervisor=BEGIN, planner=[Call("jot", {"thing": "milk"}), "Good."], observer=["stay"])
    async with chat.assistant() as assistant:
        events = []
        async for event in assistant.play(Turn(thread="ann", text="jot down milk")):
            if isinstance(event, ToolEnd):
                await assistant.stop("ann")
            events.append(event)
    done = phrase("done_until_then", "en", what="jot (thing: “milk”)")
    assert [event.message for event in events if isinstance(event, Notice)] == [done]
    await chat.says("well?")
    results = [message.text for message in chat.script.asked[-1].messages if isinstance(message, ToolMessage)]
    assert results[-1].splitlines()[0] in ("milk is noted", phrase("call_done", "en"))


@pytest.mark.parametrize("rounds", [[[JOT, HAND_BACK]], [JOT, HAND_BACK]], ids=["one reply", "two replies"])
async def test_a_dialog_that_leaves_without_a_word_is_answered_for(chat: Chat, rounds: list[Line]) -> None:
    """The supervisor's earlier words are no answer to the dialog's message; it reads the dialog's work."""
    chat.expects(supervisor=[["One moment.", PLAN], "Milk is noted."], planner=rounds)
    await chat.says("jot down milk")
    assert screen(chat) == ["One moment.", "Milk is noted."]
    assert phrase("note_results", "en", text="“milk is noted”") in chat.script.asked[-1].prefix


@pytest.mark.parametrize(
    "call", [Call("find", {"thing": "hat"}), Call("book", {"thing": "hat"})], ids=["read", "write"]
)
@pytest.mark.needs("profile")
async def test_a_view_is_a_leaving_dialogs_answer(chat: Chat, call: Call) -> None:
    """The next wish begins at once: the supervisor has nothing to add."""
    meet = Call("get_acquainted", {"brief": "work"})
    chat.expects(supervisor=[[PLAN, meet]], planner=[call, HAND_BACK], profile=["What do you do?"])
    await chat.says("a hat, and about my work")
    assert screen(chat)[1:] == ["What do you do?"]


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_what_a_model_took_back_is_told_where_it_says_no_more(chat: Chat, *, is_stopped: bool) -> None:
    """An undo is as much an act as a write: the user who stops, or whose model fails, learns of it; once."""
    chat.expects(supervisor=BEGIN, planner=[JOT, "Noted."], observer=["stay"] * 2)
    await chat.says("note milk")
    chat.expects(planner=[Call("undo_last"), "Gone." if is_stopped else ConnectionRefusedError(), "Yes."])
    async with chat.assistant() as assistant:
        events = list[Event]()
        async for event in assistant.play(Turn(thread="ann", text="hm, off the list with that again")):
            is_undone = any(isinstance(earlier, ToolEnd) for earlier in events)
            events.append(event)
            if is_stopped and is_undone and isinstance(event, ModelStart):
                await assistant.stop("ann")
        notices = [event.message for event in events if isinstance(event, Notice)]
        assert notices == ["milk is struck off."]
        later = [event async for event in assistant.play(Turn(thread="ann", text="and is it really gone?"))]
    assert notices[0] not in [event.message for event in later if isinstance(event, Notice)]


async def test_a_list_above_an_apology_is_on_the_screen(chat: Chat) -> None:
    """The lookup's list is shown although the model fails, and the next prompt counts it as shown."""
    chat.expects(supervisor=BEGIN, planner=[Call("find", {"thing": "hat"}), ConnectionRefusedError(), "The blue one."])
    chat.expects(observer=["stay"])
    await chat.says("hats")
    hats = "hat\n1. red hat\n2. blue hat"
    assert [event.text for event in chat.events if isinstance(event, Message)] == [hats]
    assert isinstance([event for event in chat.events if isinstance(event, Message | Error)][-1], Error)

    await chat.says("the second one of those then")
    asked = chat.script.asked[-1].messages[-1].text
    assert "On the user's screen:\nhat:\n1. red hat\n2. blue hat" in asked


async def test_two_lists_never_share_numbers(chat: Chat) -> None:
    """The last list has the numbers, on the screen and in what the model is told."""
    chat.expects(supervisor=BEGIN, planner=[[Call("find", {"thing": "hat"}), Call("find", {"thing": "coat"})], "Two."])
    chat.expects(planner=["The blue coat."], observer=["stay"])
    await chat.says("hats and coats")
    assert screen(chat) == ["hat\n- red hat\n- blue hat", "coat\n1. red coat\n2. blue coat", "Two."]

    await chat.says("and the second one of all that you have shown")
    asked = chat.script.asked[-1].messages[-1].text
    assert "On the user's screen:\ncoat:\n1. red coat\n2. blue coat\n" in asked
    assert "hat:" not in asked


async def test_words_below_a_view_are_streamed(chat: Chat) -> None:
    """The view comes before the first word, the whole message last."""
    chat.expects(supervisor=BEGIN, planner=[Call("find", {"thing": "hat"}), "Two of them."])
    await chat.says("hats")
    kinds = [event.type for event in chat.events if isinstance(event, View | Token | Message)]
    assert kinds == ["view", "message", "token", "token", "token", "message"]
    assert "".join(event.text for event in chat.events if isinstance(event, Token)) == "Two of them."


async def test_a_stopped_answer_keeps_the_view_above_it(chat: Chat) -> None:
    """The shown part stands in the transcript, and on the screen in the next prompt."""
    # Two pieces of the call.
    chat.script.gates["planner"] = Gate(2)
    find_hats: Line = Call("find", {"thing": "hat"})
    chat.expects(supervisor=BEGIN, planner=[find_hats, "Two of them are left."])
    shown = ""
    async with chat.assistant() as assistant:
        async for event in assistant.play(Turn(thread="ann", text="hats")):
            if isinstance(event, Token) and event.speaker == "planner":
                shown += event.text
                await assistant.stop("ann")
        lines = [(line.text, bool(line.metadata.get("interrupted"))) for line in await assistant.history("ann")]
        state = (await assistant.graph.aget_state({"configurable": {"thread_id": "ann"}})).values
    assert "Two of them are left.".startswith(shown)
    assert lines[1:] == [("hat\n1. red hat\n2. blue hat", False), (shown.strip(), True)]
    assert state["screen"] == [{"title": "hat", "lines": ["1. red hat", "2. blue hat"]}]


async def test_observers_are_told_the_open_question(chat: Chat) -> None:
    """The last thing on the user's screen is the tool's question, not the model's words before it."""
    calls: list[Line] = [["Of course.", Call("move", {"street": "Oak Street"})], "Anything else?"]
    chat.expects(supervisor=BEGIN, planner=calls, observer=["stay"])
    await chat.says("send it to Oak Street")
    await chat.says("hm, how far is that street from the station, by the way?")

    [asked] = [asked for asked in chat.script.asked if asked.role == "observer"]
    question = "move (street: “Oak Street”)?"
    assert f"It said last: {question}" in asked.prefix
    assert phrase("user_asked", "en", question=question) in chat.script.asked[-1].prefix


@pytest.mark.parametrize("lang", ["en", "ru", "zh"])
async def test_each_card_and_each_result_says_who_sees_it(chat: Chat, lang: str) -> None:
    """A model knows of every tool before and after its call whether the user sees the result."""
    calls: list[Line] = [[Call("weigh", {"thing": "hat"}), Call("find", {"thing": "hat"})], "Two."]
    chat.expects(supervisor=BEGIN, planner=calls)
    await chat.says("hats", lang=lang)

    asked = chat.script.asked[-1]
    cards = {card["function"]["name"]: card["function"]["description"] for card in asked.tools}
    ends = {"weigh": "nobody", "find": "shown", "hand_out": "as_answer", "book": "shown", "assistant_help": "nobody"}
    assert [name for name, seen in ends.items() if not cards[name].endswith(phrase(f"seen_{seen}", lang))] == []
    assert not any(phrase(f"seen_{seen}", lang) in cards["hand_back"] for seen in set(ends.values()))
    results = [message.text.splitlines()[-1] for message in asked.messages if isinstance(message, ToolMessage)]
    assert results == [phrase("seen_nobody", lang), phrase("seen_with_words", lang)]


def test_only_a_tool_with_a_view_answers_by_it() -> None:
    """The trait would promise the model a card that never comes."""
    with pytest.raises(ContractError, match="set view="):
        traits(answers=True)


def test_a_list_without_numbers_says_so_in_its_event() -> None:
    """A door that draws a list itself is told; a list with numbers is as it always was."""
    view = CardList(title="hat", entries=[Entry("red")])
    assert "unnumbered" not in view.body()
    plain = view.model_copy(update={"unnumbered": True, "call": "c1"}).body()
    assert json.loads(json.dumps(plain))["unnumbered"] is True
    assert "call" not in plain
