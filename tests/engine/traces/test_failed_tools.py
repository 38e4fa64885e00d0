"""Failed tools end in assistant_help: the model is told what help says, without asking for it."""

import asyncio
from importlib import import_module

import pytest
from langchain_core.tools import tool

from agents.events import ToolEnd
from agents.state.message_notes import notes_of
from agents.toolkit.tool_node import TIMEOUT
from app.settings import Settings
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase, prompt
from tests.support.changed_speakers import changed
from tests.support.simulated_time import advance
from tests.support.webhook_server import Webhook

pytestmark = pytest.mark.needs("planner")

PLAN = Call("plan_things", {"brief": "wants to know the weather in Ulm"})


@tool
async def weather(city: str) -> str:
    """Tell the weather."""
    raise ConnectionError("the weather station is on fire")


@tool
async def slow_weather(city: str) -> str:
    """Tell the weather, some day."""
    advance(TIMEOUT)
    await asyncio.Event().wait()
    return "sunny"


def with_weather(chat: Chat) -> None:
    """Give the planner two tools that do not work."""
    chat.speakers = changed(chat.speakers, "planner", weather, slow_weather)


async def test_an_unknown_tool_ends_in_help(chat: Chat) -> None:
    """The model is told what there is, and what help says on the user's words, without asking for it."""
    asking = "How can I delete my data from here?"
    chat.expects(supervisor=[PLAN], planner=[Call("wipe", {"all": True}), "See above."])
    trace = await chat.says(asking)

    assert "planner.wipe(all=True) ! There is no tool wipe. There are: add_reminder" in trace
    assert f"planner.assistant_help(query={asking!r}) = [from the help pages] Everything is kept in one" in trace
    [answer] = [message for message in await chat.messages("planner") if message.type == "tool"]
    assert answer.status == "error"
    assert answer.text.startswith("There is no tool wipe.")
    assert "\nHelp on what the user wants: [from the help pages] Everything is kept in one" in answer.text


@pytest.mark.parametrize("wrong", [Call("add_todos", {"items": "milk"}), Call("list_todos", {"user": "bob"})])
async def test_wrong_arguments_end_in_help_at_the_second_time(chat: Chat, wrong: Call) -> None:
    """The first time the model learns what is wrong, or invented, the second time also what help says, then no more."""
    chat.expects(supervisor=[PLAN], planner=[wrong, wrong, wrong])
    trace = await chat.says("Add milk to my list of to-dos")

    tools = [line.partition("(")[0] for line in trace.splitlines() if line.startswith("planner.")]
    tool = f"planner.{wrong.tool}"
    assert tools == [tool, tool, "planner.assistant_help", tool]
    texts = [message.text for message in await chat.messages("planner") if message.type == "tool"]
    assert ["Help on what the user wants" in text for text in texts] == [False, True, False]


async def test_wrong_arguments_are_noted_in_words_for_the_user(chat: Chat) -> None:
    """The note beside the result names the argument as the user knows it, and the bound that it breaks, once."""
    chat.expects(supervisor=[PLAN], planner=[Call("add_todos", {"items": ["x" * 501] * 2}), "That is too long."])
    await chat.says("Add a very long word to my list")

    [answer] = [message for message in await chat.messages("planner") if message.type == "tool"]
    assert notes_of(answer)["unfit"] == "entries: this is too long: no more characters than 500 fit"


async def test_a_mistake_in_another_turn_does_not_count(chat: Chat) -> None:
    """Wrong once in each of two turns, or wrong for two tools, is not wrong twice."""
    wrong = Call("add_todos", {"items": "milk"})
    other = Call("delete_todos", {"numbers": "all"})
    chat.expects(supervisor=[PLAN], planner=[wrong, "Which?", wrong, other, "Hm."])
    trace = await chat.says("Add something", "Add milk to my list of to-dos")

    assert "assistant_help" not in trace


@pytest.mark.needs("help_links")
@pytest.mark.parametrize("name", ["weather", "slow_weather"])
async def test_a_tool_that_does_not_work_ends_in_help(chat: Chat, name: str) -> None:
    """Whether it raises or takes too long; once in a turn, however often the model tries."""
    with_weather(chat)
    async with Webhook.open({"answer": "Look out of the window."}) as hook:
        chat.settings = Settings(_env_file=None, help_chain="pages,webhook")
        chat.services = [import_module("app.plugins.help_links").HelpLinkSettings(help_webhook_url=hook.url)]
        broken = Call(name, {"city": "Ulm"})
        chat.expects(supervisor=[PLAN], planner=[broken, broken, "Look out of the window."])
        trace = await chat.says("Will it rain in Ulm?")

    assert trace.replace(phrase("tool_failed", "en", tool=name), "$failed") == told(f"""
        user: Will it rain in Ulm?
        supervisor -> planner
        planner.{name}(city='Ulm') ! $failed
        planner.assistant_help(query='wants to know the weather in Ulm\\nWill it rain in Ulm?') = $answer
        planner.{name}(city='Ulm') ! $failed
        planner: Look out of the window.
    """).replace("$answer", phrase("help_webhook", "en", answer="Look out of the window."))


async def test_the_question_stands_alone(chat: Chat) -> None:
    """A question that points back comes with the message before it; a clear one stays unchanged."""
    with_weather(chat)
    broken = Call("weather", {"city": "Ulm"})
    chat.expects(supervisor=[PLAN], planner=["Where?", broken, "No idea.", broken, "No idea."])
    await chat.says("Tell me the weather", "Ulm", "Tell me about the long winters of Bavaria")

    queries = [event.args["query"] for event in chat.events if isinstance(event, ToolEnd) and "help" in event.tool]
    assert queries == ["Tell me the weather\nUlm", "Tell me about the long winters of Bavaria"]


@pytest.mark.parametrize(
    ("lang", "first", "second", "rewritten"),
    [
        ("en", "Tell me the weather of Ulm tomorrow", "And in Bonn?", "What will the weather be in Bonn tomorrow?"),
        ("ru", "Скажи погоду в Ульме на завтра", "А в Бонне?", "Какая завтра погода в Бонне?"),
    ],
)
async def test_a_model_rewrites_a_question_that_points_back(
    chat: Chat, lang: str, first: str, second: str, rewritten: str
) -> None:
    """It reads the earlier messages as data; a clear question costs no such call."""
    with_weather(chat)
    broken = Call("weather", {"city": "Bonn"})
    chat.expects(
        supervisor=[PLAN],
        planner=[broken, "No idea.", broken, "No idea either."],
        observer=["stay", f"{rewritten}\n"],
    )

    assert f"planner.assistant_help(query={first!r})" in await chat.says(first, lang=lang)
    assert [asked.role for asked in chat.script.asked] == ["supervisor", "planner", "planner"]
    assert f"planner.assistant_help(query={rewritten!r})" in await chat.says(second, lang=lang)
    _, asked = [asked for asked in chat.script.asked if asked.role == "observer"]
    role, message = asked.messages
    assert role.text == prompt("help_query", lang)
    assert message.text.endswith(f"user: {first}\nassistant: No idea.\n</context>\n\n{second}")


async def test_a_model_that_cannot_rewrite_leaves_it_to_the_rule(chat: Chat) -> None:
    """Help is a way out; it does not fail because another model does."""
    with_weather(chat)
    broken = Call("weather", {"city": "Bonn"})
    chat.expects(supervisor=[PLAN], planner=["Where?", broken, "No idea."], observer=[OSError("nobody there")] * 3)

    trace = await chat.says("Tell me the weather", "Bonn")

    assert "planner.assistant_help(query='Tell me the weather\\nBonn')" in trace
    chat.script.queues.clear()


@pytest.mark.parametrize(
    ("text", "lang"),
    [("How tall is Mount Everest?", "en"), ("Какая столица Франции?", "ru"), ('"* OR NEAR(', "en")],
)
async def test_nothing_found_is_said_honestly(chat: Chat, text: str, lang: str) -> None:
    """A question that only shares small words with the pages is not answered by the next best section."""
    chat.expects(supervisor=[Call("assistant_help", {"query": text}), "There you are."])
    assert f"supervisor.assistant_help(query={text!r}) = {phrase('help_unknown', lang)}" in await chat.says(
        text, lang=lang
    )


async def test_a_forced_question_reaches_a_person_only_at_the_end(chat: Chat) -> None:
    """A failed tool troubles a person when no other link knows, and once."""
    with_weather(chat)
    chat.settings = Settings(_env_file=None, help_chain="pages,person")
    broken = Call("weather", {"city": "Ulm"})
    chat.expects(supervisor=[PLAN], planner=[broken, "A person was told."])
    assert "= [passed on to a person]" in await chat.says("Show me the weather of Ulm tomorrow")
    assert await chat.notes() == [("ann", "Show me the weather of Ulm tomorrow")]
