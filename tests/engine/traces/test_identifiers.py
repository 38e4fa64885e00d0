"""Identifiers on their way through a conversation: as numbers to the model, as themselves to tools."""

from collections.abc import Sequence

import pytest
from langchain_core.tools import BaseTool, tool

from agents.events.views import CardList, Entry
from agents.language.identifiers import masked, shown
from agents.toolkit.context import Runtime
from agents.toolkit.descriptions import parameters, signature
from agents.toolkit.questions import CHOICE
from agents.toolkit.result import Answer, Option, choice, result, schema_of
from agents.toolkit.traits import traits, traits_of
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support import shop_tools
from tests.support.changed_speakers import changed
from tests.support.shop_tools import ORDERS, OrderId

pytestmark = pytest.mark.needs("planner")

SHOES, HAT, COAT = ORDERS
BEGIN: list[Line] = [Call("plan_things", {"brief": "my orders"})]
SENT: list[dict[str, int]] = []


@traits(
    result={
        "type": "object",
        "propertyNames": {"x-opaque": "order"},
        "additionalProperties": {"type": "object", "properties": {"price": {"type": "number"}}},
    }
)
@tool(response_format="content_and_artifact")
async def prices(runtime: Runtime) -> Answer:
    """Tell what each order cost."""
    return result({id: {"price": price} for id, (_, price) in ORDERS.items()})


@tool
async def send(pieces: dict[OrderId, int], runtime: Runtime) -> str:
    """Send some pieces of each order."""
    SENT.append(pieces)
    return "Sent."


@tool
async def news(runtime: Runtime) -> str:
    """Tell the news."""
    return f"Order {COAT} was sold out."


def given(chat: Chat, tools: Sequence[BaseTool]) -> None:
    """Give the planner these tools alone."""
    chat.speakers = changed(chat.speakers, "planner", tools=tools)


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    """Begin with nothing sent, either way."""
    SENT.clear()
    shop_tools.RETURNS.clear()


async def test_names_of_members_are_numbers_too(chat: Chat) -> None:
    """Records kept under their identifiers come with numbers, by which the model can name them to another tool."""
    given(chat, [prices, send])
    chat.expects(supervisor=BEGIN, planner=[Call("prices"), Call("send", {"pieces": {"2": 1, "3": 4}}), "On its way."])

    assert told("""
        user: Send me a hat and four coats
        supervisor -> planner
        planner.prices() = {"1":{"price":60.0},"2":{"price":15.0},"3":{"price":140.0}}
        planner.send(pieces={'2': 1, '3': 4}) = Sent.
        planner: On its way.
    """) == await chat.says("Send me a hat and four coats")
    assert [{HAT: 1, COAT: 4}] == SENT


def test_a_model_reads_that_names_are_numbers() -> None:
    """The short form of a tool says so."""
    assert signature(prices) == "prices() -> {number: {price: number}}"
    assert signature(send) == "send(pieces: {number | text: number})"


async def test_what_the_user_sees_is_masked_for_the_model(chat: Chat) -> None:
    """The screen and the notes of a handoff name a thing by the number of its result, never by its identifier."""

    @traits(result=shop_tools.Order)
    @tool(response_format="content_and_artifact")
    async def newest(runtime: Runtime) -> Answer:
        """Show the newest order."""
        view = CardList(title=f"Order {COAT}, late", entries=[Entry(f"coat of {COAT}")])
        return result(shop_tools.order(COAT), view=view)

    given(chat, [newest])
    chat.expects(supervisor=[*BEGIN, "Gladly."], planner=[Call("newest"), "There.", "That one, yes."])
    chat.expects(planner=[Call("hand_back", {"wish": f"ask about {COAT}"})], observer=["stay"] * 2)
    trace = await chat.says("Show me the newest", "is it this one that is late then", "now something else entirely")

    assert COAT in trace
    prompts = [message.text for call in chat.script.asked for message in call.messages]
    assert not any(COAT in text for text in prompts)
    assert any("Order #1, late:\n1. coat of #1" in text for text in prompts)
    assert any("ask about #1" in text for text in prompts)


@pytest.mark.parametrize(
    ("text", "masked_text"),
    [
        ("Order #W23781562026 is late.", "Order #7 is late."),
        ("(#W23781562026, 2026000000000)", "(#7, #8)"),
        ("2026000000000-11, 2026000000000.50 EUR", "2026000000000-11, 2026000000000.50 EUR"),
        ("#W237815620267 and a friendlyredhead", "#W237815620267 and a friendlyredhead"),
        ("Order D1003 is late.", "Order D1003 is late."),
    ],
)
def test_only_whole_identifiers_are_masked(text: str, masked_text: str) -> None:
    """A part of a word, of a date or of a price stays, and so do plain words and short ones."""
    assert (
        masked(
            text,
            {"order": {"7": "#W23781562026", "8": "2026000000000", "10": "D1003"}, "hat": {"9": "friendlyredhead"}},
        )
        == masked_text
    )


async def test_what_the_user_spelled_out_is_taken(chat: Chat) -> None:
    """An identifier that no tool has shown yet reaches the tool as the user wrote it, now or some messages ago."""
    given(chat, shop_tools.TOOLS)
    chat.expects(supervisor=BEGIN, planner=[Call("submit_return", {"order": HAT}), "Sent back.", "Sure?"])
    chat.expects(planner=[Call("submit_return", {"order": COAT}), "That one, too."], observer=["stay"] * 2)

    assert told(f"""
        user: What about my order {HAT}? Send it back!
        supervisor -> planner
        planner.submit_return(order='{HAT}') = Red hat is on its way back.
        planner: Sent back.
        user: there is one more order that I have doubts about, (#{COAT})
        planner: Sure?
        user: well, on second thoughts, do send that one back as well
        planner.submit_return(order='{COAT}') = Green coat is on its way back.
        planner: That one, too.
    """) == await chat.says(
        f"What about my order {HAT}? Send it back!",
        f"there is one more order that I have doubts about, (#{COAT})",
        "well, on second thoughts, do send that one back as well",
    )
    assert [("ann", HAT), ("ann", COAT)] == shop_tools.RETURNS


@pytest.mark.parametrize("given_as", [COAT, COAT.upper(), COAT[:8], "coat", 3])
async def test_what_the_user_did_not_write_is_refused(chat: Chat, given_as: object) -> None:
    """Neither what a brief, a tool or a model wrote, nor a part, another case or a name of what the user wrote."""
    given(chat, [news, shop_tools.submit_return])
    calls: list[Line] = [Call("news"), Call("submit_return", {"order": given_as}), f"Shall I send {COAT} back?"]
    again: list[Line] = [Call("submit_return", {"order": given_as}), "Which one?"]
    chat.expects(supervisor=[Call("plan_things", {"brief": f"send {COAT} back"})], planner=[*calls, *again])
    chat.expects(observer=["stay"])
    trace = await chat.says(
        f"Send my coat back, the third one, https://shop.example/{COAT}", "yes, that is the one I want to send back"
    )

    told_model = phrase("alias_unknown", "en", kind="order", given="3" if given_as == 3 else "…", known="-")
    assert trace.count(f"planner.submit_return(order={given_as!r}) ! {told_model}") == 2
    assert shop_tools.RETURNS == []


async def test_a_button_is_not_what_the_user_wrote(chat: Chat) -> None:
    """The label of a tapped option was written by a tool, whatever stands in it."""

    @traits(kind="selector")
    @tool(response_format="content_and_artifact")
    async def choose(runtime: Runtime) -> Answer:
        """Let the user choose."""
        return choice("Which?", [Option(f"sell {COAT}", 1), Option("keep it", 2)])

    given(chat, [choose, shop_tools.submit_return])
    chat.expects(supervisor=BEGIN, planner=[Call("choose"), Call("submit_return", {"order": COAT}), "Hm."])
    await chat.says("Let me choose")
    await chat.says(f"sell {COAT}", source=CHOICE)

    assert shop_tools.RETURNS == []


async def test_a_known_number_is_the_number(chat: Chat) -> None:
    """A given number keeps its meaning, however the user writes it; an old one means nothing new."""
    given(chat, shop_tools.TOOLS)
    calls: list[Line] = [Call("find_orders", {"name": "hat"}), Call("submit_return", {"order": "#1"}), "Sent back."]
    chat.expects(supervisor=BEGIN, planner=calls)
    await chat.says("Send back my hat, that is order #1")

    assert [("ann", HAT)] == shop_tools.RETURNS


def test_a_schema_allows_both() -> None:
    """The model writes a number or a text, without a choice within a choice; it reads a number.

    The built-in rules take it for an identifier.
    """

    @tool
    async def look(order: OrderId | None = None, orders: Sequence[OrderId] = ()) -> str:
        """Look."""
        return ""

    both = [{"type": "integer"}, {"type": "string"}]
    assert shown(parameters(look), is_argument=True)["properties"]["order"]["anyOf"] == [*both, {"type": "null"}]
    assert shown(parameters(send), is_argument=True)["properties"]["pieces"]["propertyNames"] == {"anyOf": both}
    assert shown(schema_of(traits_of(prices).result))["propertyNames"] == {"pattern": r"^\d+$"}
    values = pytest.importorskip("app.plugins.standin.values")
    read = values.parameters({"parameters": shown(parameters(look), is_argument=True)})
    assert [read["order"].kind, read["orders"].kind] == ["id", "ids"]
