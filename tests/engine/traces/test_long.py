"""Long conversations: histories are cut in blocks, and what was cut is summed up and can be looked up."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.messages import BaseMessage

from agents.events import ModelStart
from agents.models.window import Window
from agents.toolkit.speaker import History
from app.assistant import Turn
from app.testing import Chat
from app.testing.script import Call, Line, Script
from prompts import prompt
from tests.support.changed_speakers import changed
from tests.support.scripted_assistant import Gate

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})
FACTS = {
    "What is my cat called?": ("cat", "My cat is called Miso."),
    "Where did I leave the car?": ("leave car", "The car stands in Elm Street 12."),
    "And the code of the gate?": ("code of the gate", "The code of the gate is 4711."),
}
"""By the question: the words to look for, and what the user had said."""
LINE = "So I went on with the long story of the journey, and told how the third day began at the harbour."
LONG = "word " * 1_400
EARLIER = "The conversation began earlier"


def in_window(chat: Chat, size: int | None, bound: int | None = None, patience: float = 10) -> None:
    """Let every model have a window of so many tokens, and histories of so many."""
    models = chat.script.models(["supervisor", "observer", *chat.speakers.dialogs])
    own: dict[str, Any] = {"window": Window(size, bound), "aside_seconds": patience}
    roles = {role: replace(model, **own) for role, model in models.roles.items()}
    chat.models = replace(models, roles=roles)


async def begun(chat: Chat, history: History = "summarise", patience: float = 10) -> None:
    """Hold a dialog for some turns; the next message, a long one, makes its history be cut."""
    in_window(chat, None, bound=4_000, patience=patience)
    chat.speakers = changed(chat.speakers, "profile", history=history)
    chat.expects(supervisor=[BEGIN], profile=["Question 0?", "Question 1?", "Question 2?"])
    await chat.says("Hi", "first " * 500, "second " * 500)


def prompt_of(chat: Chat) -> str:
    """Return the model's last prompt without its role."""
    return "\n".join(message.text for message in chat.script.asked[-1].messages[1:])


async def test_a_history_is_cut_and_summed_up(chat: Chat) -> None:
    """It is summed up behind the answer; the rest begins with a user message, and the next prompt says what was."""
    await begun(chat)
    chat.expects(profile=["I see.", "Ann is a nurse.", "One more?"])
    await chat.says(LONG)
    kinds = [(event.type, getattr(event, "speaker", "")) for event in chat.events]
    assert kinds.index(("message", "profile")) < kinds.index(("model.start", "profile summary"))
    assert "Question 0?" in prompt_of(chat)
    assert LONG not in prompt_of(chat)

    kept = await chat.messages("profile")
    assert [message.type for message in kept] == ["human", "ai"]
    await chat.says("Yes")
    assert f"{EARLIER}; search_history finds what was said in it. Before this: Ann is a nurse." in prompt_of(chat)
    assert "Question 0?" not in prompt_of(chat)
    assert (await chat.state())["talks"]["profile"]["summary"] == "Ann is a nurse."


async def test_a_model_that_is_busy_sums_nothing_up(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """The answer stands, and so does the cut, with a line that says so."""
    await begun(chat)
    chat.expects(profile=["I see.", ModelRateLimitError("busy"), "One more?"])
    await chat.says(LONG)
    assert "no summary" in caplog.text
    assert await chat.says("Yes") == "user: Yes\nprofile: One more?"
    assert f"{EARLIER}; search_history finds what was said in it. Before this: -" in prompt_of(chat)


async def test_a_summary_is_not_waited_for_longer_than_the_patience(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    """A model that never comes to the end of one keeps nobody waiting."""
    await begun(chat, patience=0.01)
    chat.expects(profile=["I see.", "Ann is a nurse."])
    chat.script.gates["profile"] = Gate(len(["I", "see.", "its end"]))
    assert (await chat.says(LONG)).endswith("profile: I see.")
    assert "no summary: TimeoutError" in caplog.text


async def test_a_dialog_that_drops_what_is_cut_asks_nobody(chat: Chat) -> None:
    """The line alone says that something was before."""
    await begun(chat, history="drop")
    chat.expects(profile=["I see.", "One more?"])
    await chat.says(LONG)
    assert await chat.says("Yes") == "user: Yes\nprofile: One more?"
    assert EARLIER in prompt_of(chat)


async def test_a_summary_that_was_stopped_is_made_after_the_next_answer(chat: Chat) -> None:
    """The cut messages are kept until then."""
    await begun(chat)
    chat.expects(profile=["I see.", "Ann is a nurse."])
    chat.script.gates["profile"] = Gate(len(["I", "see.", "its end"]))
    async with chat.assistant() as assistant:
        async for event in assistant.play(Turn(thread="ann", text=LONG)):
            if isinstance(event, ModelStart) and event.speaker == "profile summary":
                await assistant.stop("ann")
    del chat.script.gates["profile"]
    assert (await chat.state())["talks"]["profile"]["lost"]
    chat.expects(profile=["One more?", "Ann is a nurse."])
    await chat.says("Yes")
    assert EARLIER in "".join(message.text for message in chat.script.asked[-2].messages)
    talk = (await chat.state())["talks"]["profile"]
    assert (talk["summary"], talk["lost"]) == ("Ann is a nurse.", 0)


async def test_a_forgotten_form_takes_the_summary_with_it(chat: Chat) -> None:
    """It may tell what the form held; that something was before is still said."""
    await begun(chat)
    chat.expects(profile=["I see.", "Ann is a nurse."])
    await chat.says(LONG)
    async with chat.assistant() as assistant:
        await assistant.forgetting.form("ann", "profile")
    assert (await chat.state())["talks"]["profile"]["summary"] == ""


class Listener(Script):
    """A model that answers from its prompt, and looks up what does not stand there."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return a summary that leaves the facts out, small talk, a look-up, or the fact."""
        if messages[0].text == prompt("summary", "en"):
            return "They told of a journey."
        heard = next(message.text for message in reversed(messages) if message.type == "human")
        question = next((question for question in FACTS if question in heard), None)
        if question is None:
            return "I see."
        words, fact = FACTS[question]
        is_known = any(fact in message.text for message in messages[1:])
        return fact if is_known else Call("search_history", {"words": words})


@pytest.mark.parametrize(
    ("window", "ago"), [(8_192, 40), (131_072, 10), pytest.param(131_072, 200, marks=pytest.mark.slow)]
)
async def test_facts_of_long_ago_are_answered(chat: Chat, window: int, ago: int) -> None:
    """A fact from so many turns before is in the prompt or in a search, whatever the summary left out."""
    chat.script = Listener()
    in_window(chat, window)
    await chat.says(*(fact for _, fact in FACTS.values()))
    await chat.says(*(f"{number}. {LINE * 3}" for number in range(ago)))
    for question, (_, fact) in FACTS.items():
        trace = await chat.says(question)
        assert trace.endswith(f"supervisor: {fact}")
    was_cut = window == 8_192 or ago == 200
    assert (EARLIER in prompt_of(chat)) is was_cut
    assert ("search_history" in trace) is was_cut


async def test_a_group_is_told_only_what_it_could_read(chat: Chat) -> None:
    """A search in the history leaves out others' private messages, and those from before a person came."""
    chat.expects(
        supervisor=["Noted.", "Noted.", Call("search_history", {"words": "code of the gate"}), "I do not know."]
    )
    await chat.says("The code of the gate is 4711.", user="ann")
    await chat.says("My own gate has no code.", user="bob")
    trace = await chat.says("What is the code of the gate?", user="bob")
    assert "4711" not in trace
    assert "user: My own gate has no code." in trace


async def test_what_was_passed_on_is_not_looked_up(chat: Chat) -> None:
    """Words of somebody else would be read as the user's."""
    chat.expects(supervisor=["Noted.", Call("search_history", {"words": "gate"}), "I do not know."])
    await chat.says("The code of the gate is 4711.", source="forwarded")
    assert "4711" not in await chat.says("What about the gate?")
