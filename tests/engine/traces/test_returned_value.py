"""A page to open hands a value back to the tool that sent the user there."""

import pytest

from agents.events import Message
from agents.toolkit.questions import PAGE as SOURCE
from agents.toolkit.questions.form import LONGEST_FORM
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase
from tests.support.page_tools import BEGIN, END, with_pages

pytestmark = pytest.mark.needs("planner")

HINT = {"address": "shop.example/end", "names": "code"}
OPENED = "breaker: Please sign in. [https://shop.example/sign-in]"


@pytest.fixture(autouse=True)
def pages(chat: Chat) -> None:
    """Give the planner tools that open pages."""
    chat.speakers = with_pages(chat.speakers)


@pytest.mark.parametrize(
    "address",
    [
        "https://shop.example/end?code=abc-1&state=7",
        "HTTPS://Shop.example/end/?state=7&scope=all&code=abc%2D1#top",
    ],
)
async def test_the_value_of_a_pasted_address_is_handed_back(chat: Chat, address: str) -> None:
    """The tool gets the value of the parameter that it named; the address may carry more than that."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in"), "Welcome."])

    assert told(f"""
        user: Sign me in
        supervisor -> planner
        {OPENED}
        user: {address}
        planner.sign_in() = {{"done":true,"answer":"abc-1"}}
        planner: Welcome.
    """) == await chat.says("Sign me in", address)


async def test_what_a_page_hands_back_is_text_from_outside(chat: Chat) -> None:
    """A write in the same turn asks first; the user's next message is the user's own again."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in"), Call("send", {"text": "hello"})])
    trace = await chat.says("Sign me in", "https://shop.example/end?code=abc&state=7")

    assert "confirm: " in trace.splitlines()[-1]


@pytest.mark.parametrize("lang", ["en", "ru"])
async def test_the_user_is_told_which_address_to_send(chat: Chat, lang: str) -> None:
    """The question names the address and its parameter, and no value that must come back unchanged."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in")])
    await chat.says("Sign me in", lang=lang)

    [told_user] = [event.text for event in chat.events if isinstance(event, Message)]
    assert told_user.endswith(phrase("page_back", lang, **HINT))
    assert "state" not in told_user


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("https://shop.example/end?code=abc", "ru"),
        ("https://shop.example/end?code=abc&state=8", "en"),
        ("https://shop.example/end?state=7", "en"),
        ("https://shop.example/end?state=7&code=", "en"),
        ("https://shop.example/end?state=7&code=a&code=b", "en"),
        ("https://shop.example/end?state=7&code=a%0Ab", "en"),
        ("https://shop.example/ending?state=7&code=abc", "en"),
        ("https://shop.example.evil.example/end?state=7&code=abc", "en"),
        ("http://shop.example/end?state=7&code=abc", "en"),
        ("https://shop.example/end?state=7&code=" + "a" * LONGEST_FORM, "en"),
        ("https://shop.example/end?state=7&code=abc" + "&x=1" * 200, "en"),
    ],
)
async def test_an_address_that_does_not_fit_is_asked_for_again(chat: Chat, text: str, lang: str) -> None:
    """Another page, another state, a missing or ambiguous value, too much of it: the question stays, with a word."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in")])
    trace = await chat.says("Sign me in", text, lang=lang)

    assert trace.endswith(f"breaker: {phrase('page_wrong', lang)} [https://shop.example/sign-in]")


@pytest.mark.parametrize(("lang", "text"), [("en", "done"), ("ru", "готово")])
async def test_done_is_no_value(chat: Chat, lang: str, text: str) -> None:
    """The tool waits for what the page hands back, so that "done" alone does not go on."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in")])

    assert (await chat.says("Sign me in", text, lang=lang)).count(phrase("page_wrong", lang)) == 1


async def test_a_value_is_checked_by_the_form(chat: Chat) -> None:
    """With a form the value of the address, or a code that is typed, has to fit its field."""
    chat.expects(supervisor=BEGIN, planner=[Call("get_code"), "Thank you."])
    trace = await chat.says("Get me a code", f"{END}abcd", f"{END}1234")

    assert trace.count("breaker: That does not fit (code: ") == 1
    assert trace.endswith('planner.get_code() = {"code":"1234"}\nplanner: Thank you.')


async def test_a_parameter_that_is_no_field_fills_in_the_only_one(chat: Chat) -> None:
    """A link to a bot always says `start`; a single value goes to a single field."""
    chat.expects(supervisor=BEGIN, planner=[Call("link_account"), "Linked."])

    trace = await chat.says("Link my account", "https://t.me/sue_bot?start=0042")
    assert trace.endswith('planner.link_account() = {"code":"0042"}\nplanner: Linked.')


async def test_several_values_fill_in_several_fields(chat: Chat) -> None:
    """Parameters go to the fields of their name; a web app sends the same as JSON."""
    chat.expects(supervisor=BEGIN, planner=[Call("pick_slot"), "Noted."])

    trace = await chat.says("Deliver it", "https://shop.example/end?hour=9&day=Monday")
    assert trace.endswith('planner.pick_slot() = {"day":"Monday","hour":9}\nplanner: Noted.')


@pytest.mark.parametrize("tool", ["sign_in", "get_code"])
async def test_a_page_answers_only_for_a_web_app(chat: Chat, tool: str) -> None:
    """A web app's data is no answer to another kind of page."""
    chat.expects(supervisor=BEGIN, planner=[Call(tool)])
    await chat.says("Sign me in")

    assert phrase("page_wrong", "en") in await chat.says("1234", source=SOURCE)


async def test_a_page_answers_no_other_question(chat: Chat, shop: None) -> None:
    """A page cannot choose for the user; nor is it heard where nothing was asked."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    gone = phrase("choice_gone", "en")

    assert gone in await chat.says("yes", source=SOURCE)
    await chat.says("I want to return something")
    assert gone in await chat.says("1", source=SOURCE)
    assert (await chat.state())["pending"]


@pytest.mark.parametrize(
    "args", [{"back": "https://shop.example/end"}, {"back": "ftp://x.example?code="}, {"back": "", "web_app": True}]
)
async def test_a_page_that_could_hand_nothing_back_is_a_failure_of_its_tool(
    chat: Chat, args: dict[str, object]
) -> None:
    """A return address without a parameter, or a web app without https, is refused before anybody is asked."""
    chat.expects(supervisor=BEGIN, planner=[Call("go_to", args), "There is no page."])

    assert phrase("tool_failed", "en", tool="go_to") in await chat.says("Open it")
