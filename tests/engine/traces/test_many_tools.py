"""Three hundred tools: a constant bound list, cards that are appended, tools that are looked for and called."""

import pytest
from langchain_core.messages import BaseMessage

from agents.toolkit import tool_search
from agents.toolkit.descriptions import Schemas
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tool_searches
from app.composition import discover
from app.testing import Chat, told
from app.testing.script import Asked, Call
from benchmarks.warehouse import with_warehouse


@pytest.fixture(scope="module")
def warehouse() -> Speakers:
    """Make three hundred tools once: each has a schema of its own."""
    speakers, _ = discover()
    return with_warehouse(speakers)


@pytest.fixture(autouse=True)
def many_tools(chat: Chat, warehouse: Speakers) -> None:
    """Give the supervisor three hundred tools."""
    chat.speakers = warehouse


def test_everyday_speakers_have_no_shelf(chat: Chat) -> None:
    """Only who has too many tools gets a search; the others' tools are bound as they are."""
    crowded = [speaker.name for speaker in chat.speakers if len(speaker.tools) > tool_search.MOST_BOUND]
    assert list(tool_searches(chat.speakers)) == crowded
    assert "supervisor" in crowded
    assert "player" not in crowded


def test_models_are_offered_arguments_as_text() -> None:
    """The schema of `call_tool` has no object without properties, which some providers refuse."""
    schema = Schemas().of(tool_search.call_tool, "en")["function"]["parameters"]
    assert {name: it["type"] for name, it in schema["properties"].items()} == {"name": "string", "args": "string"}


async def test_a_card_is_appended_and_called(chat: Chat) -> None:
    """The cards that fit the message stand behind it; `call_tool` runs the tool under its own name."""
    chat.expects(supervisor=[Call("call_tool", {"name": "paint_violins", "args": {"amount": 2}}), "Both are painted."])

    assert told("""
        user: Please paint two violins
        supervisor.paint_violins(amount=2) = paint 2 violins: done, here
        supervisor: Both are painted.
    """) == await chat.says("Please paint two violins")
    [_, heard] = chat.script.asked[0].messages
    assert "- paint_violins(amount: number, place?: text): Paint violins" in heard.text.partition("two violins")[2]
    [_, cards, *_] = await chat.messages("supervisor")
    assert len(cards.additional_kwargs["cards"]) == 6


async def test_a_tool_is_looked_for(chat: Chat) -> None:
    """`find_tools` returns the cards of tools that fit what it was asked."""
    chat.expects(
        supervisor=[
            Call("find_tools", {"query": "sell candles"}),
            Call("call_tool", {"name": "sell_candles", "args": {"amount": 5}}),
            "Sold.",
        ]
    )
    trace = await chat.says("I need some money")

    assert "- sell_candles(amount: number, place?: text): Sell candles" in trace
    assert "supervisor.sell_candles(amount=5) = sell 5 candles: done, here" in trace


async def test_wrong_arguments_come_back_with_the_card(chat: Chat) -> None:
    """A call by card that does not fit the schema is told what the tool takes."""
    chat.expects(supervisor=[Call("call_tool", {"name": "sell_hats", "args": {"amount": "some"}}), "How many?"])
    trace = await chat.says("Sell hats")

    assert "supervisor.sell_hats(amount='some') ! Wrong arguments for sell_hats: amount: Input should be" in trace


async def test_an_unknown_name_is_told_near_ones(chat: Chat) -> None:
    """A name that does not exist is answered with a few that look like it, not with all three hundred."""
    chat.expects(supervisor=[Call("call_tool", {"name": "sell_hat", "args": {"amount": 1}}), "Sorry."])
    trace = await chat.says("Sell a hat")

    assert "sell_hats" in trace
    assert "zippers" not in trace


async def test_every_prompt_begins_like_the_one_before(chat: Chat) -> None:
    """Over a conversation the tools are equal, and each prompt continues the last.

    It does so to the letter, between turns as well. The history is cut in blocks: only there a prompt begins anew.
    """
    says = []
    for number in range(30):
        thing = ("violins", "hats", "candles", "doors", "keys")[number % 5]
        chat.expects(supervisor=[Call("call_tool", {"name": f"sell_{thing}", "args": {"amount": number}}), "Sold."])
        says.append(f"Sell {number} {thing}")
    await chat.says(*says)
    calls = chat.script.asked

    assert len(calls) == 60
    assert len({str(call.tools) for call in calls}) == 1
    broken = [place for place in range(1, len(calls)) if not _continues(calls[place], calls[place - 1])]
    assert broken == [place for place in range(1, 60) if len(calls[place].messages) < len(calls[place - 1].messages)]
    assert len(broken) <= 4
    rounds = [(_told(calls[place].messages), _told(calls[place - 1].messages)) for place in range(1, 60, 2)]
    assert all(later[: len(earlier)] == earlier for later, earlier in rounds)


async def test_cards_cost_less_than_binding_every_tool(chat: Chat) -> None:
    """The prompt of a turn is a small part of what three hundred bound tools would make of it."""
    chat.expects(supervisor=["Well."])
    await chat.says("Paint two violins")
    [call] = chat.script.asked
    everything = sum(len(str(tool.args)) + len(tool.description) for tool in chat.speakers.supervisor.tools)

    assert len(call.prefix) * 6 < everything


def _continues(call: Asked, before: Asked) -> bool:
    return _told(call.messages)[: len(before.messages)] == _told(before.messages)


def _told(messages: list[BaseMessage]) -> list[str]:
    """Return a line for each message."""
    return [f"{message.type}: {message.text} {getattr(message, 'tool_calls', '')}" for message in messages]


@pytest.mark.parametrize("args", ['{"amount": 2}', {"amount": 2}])
async def test_arguments_may_be_an_object_or_json(chat: Chat, args: object) -> None:
    """Some models write the arguments of `call_tool` as a text."""
    chat.expects(supervisor=[Call("call_tool", {"name": "paint_violins", "args": args}), "Both are painted."])

    assert "supervisor.paint_violins(amount=2) = paint" in await chat.says("Please paint two violins")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("call_tool", {"name": "paint_violins"}),
        ("hand_back", "nonsense"),
        ("plan_things", None),
        ("paint_violins", "[1]"),
        ("paint_violins", {"amount": 2, "runtime": {"context": {"user": "eve"}}}),
        ("", {"amount": 2}),
    ],
)
async def test_what_is_no_card_is_told_so(chat: Chat, name: str, args: object) -> None:
    """A call of what is no tool, of what is not called this way, or of `call_tool` itself is an error."""
    chat.expects(supervisor=[Call("call_tool", {"name": name, "args": args}), "Sorry."])
    trace = await chat.says("Please paint two violins")

    assert " ! " in trace
    assert trace.endswith("supervisor: Sorry.")


async def test_what_no_tool_fits_is_said(chat: Chat) -> None:
    """A search for a tool that there is not finds none, instead of the six that are least unlike it."""
    chat.expects(supervisor=[Call("find_tools", {"query": "undo the last change"}), "I cannot."])

    assert "supervisor.find_tools(query='undo the last change') = Nothing fits." in await chat.says(
        "undo all of it now"
    )


@pytest.mark.needs("player")
async def test_who_calls_an_unknown_tool_is_told_of_the_specialists(chat: Chat) -> None:
    """A specialist's own tool called by the supervisor leads to the specialist."""
    chat.expects(supervisor=[Call("search_titles", {"words": "boat"}), Call("watch_things", {"brief": "boat"})])
    chat.expects(player=["There is one."])
    trace = await chat.says("is there anything to watch with a boat in it")

    assert "watch_things" in trace.partition("There is no tool search_titles. There are:")[2].splitlines()[0]
    assert trace.endswith("player: There is one.")
