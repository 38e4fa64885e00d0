"""A message in the middle of an answer: afterwards memory is what the chat shows, character for character."""

import re
from collections.abc import Sequence

import pytest

from agents.memory.preferences import Preferences
from app.assistant.short_term_memory import Content, contents
from app.plugins.telegram.delivery import draft
from app.plugins.telegram.delivery.pages import LIMIT
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, Open, never
from tests.support.scripted_assistant import PLAN, Holding
from tests.support.telegram_server import BotApi
from tests.support.user_words import bare

THREAD = f"telegram-{ANN}"
MOMENTS = ("between two drafts", "behind two pages", "during a tool")
FIRST, THEN = "расскажи мне о море", "нет, лучше поздоровайся"
ANSWER = "Так,  море\nглубоко (да)…  и 😀 широко\n\nоно  велико"
WORD = "необозримый"
LONG = "".join(f"{WORD}{place} " for place in range(2 * LIMIT // len(WORD) + 50))
HELLO = "Здравствуйте."


class Steps(Holding):
    """A gate that lets so many pieces pass, and further ones when it is told."""

    def allow(self, pieces: int) -> None:
        """Let further pieces pass, the one that waits first."""
        self.holds = False
        self._passes += pieces
        self.set()
        self.clear()


@pytest.fixture(autouse=True)
def default(door: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a new message end the answer, and a draft show its first words alone."""
    monkeypatch.setattr(Preferences, "busy", Preferences().busy)
    monkeypatch.setattr(draft, "DRAFT_EVERY", 60.0)


async def reach(moment: str, world: BotApi, script: Script) -> str:
    """Have an answer begun and come to a moment; return what of it was shown by then."""
    if moment == "during a tool":
        script.add(supervisor=[PLAN], planner=[[ANSWER, Call("list_todos")]])
        await world.asks(ANN, FIRST, sent=1)
        return ANSWER
    is_long = moment == "behind two pages"
    script.gates["supervisor"] = gate = Steps(2 * LIMIT // len(WORD) + 20 if is_long else 1)
    script.add(supervisor=[LONG if is_long else ANSWER])
    world.says(ANN, FIRST)
    await world.until(lambda: gate.holds and world.drafts and world.drafts[-1].frames[-1])
    if is_long:
        return LONG[: 2 * LIMIT]
    gate.allow(4)
    await world.until(lambda: gate.holds)
    begun = "".join(re.findall(r"\s*\S+", ANSWER)[:6])
    assert begun.startswith(world.drafts[-1].frames[-1])
    assert world.drafts[-1].frames[-1] != begun
    return begun


def covers(text: str, shown: Sequence[str]) -> bool:
    """Tell whether messages show a text, with nothing but the space between two messages left out."""
    place = 0
    for message in shown:
        at = text.find(message, place)
        if at < 0 or text[place:at].strip():
            return False
        place = at + len(message)
    return not text[place:].strip()


def spoken(memory: Sequence[Content]) -> str:
    """Return all that the assistant said, as memory has it."""
    return "\n".join(it["content"] for it in memory if it["role"] == "assistant")


@pytest.mark.needs("planner")
@pytest.mark.parametrize("moment", MOMENTS)
async def test_memory_is_what_the_chat_shows(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Wherever the answer is cut, the part that stays in the chat is what history and the next prompt have."""
    monkeypatch.setattr("dialogs.planner.tools.todos.Todos.stored", never)
    async with door() as telegram:
        begun = await reach(moment, world, script)
        script.gates.clear()
        script.queues.clear()
        script.add(**{script.asked[-1].role: [HELLO]}, observer=["stay"])
        world.says(ANN, THEN)
        await world.until(lambda: world.texts(ANN)[-1:] == [HELLO] and not telegram.chats.is_busy(ANN))
        memory = contents(await telegram.assistant.history(THREAD))
    [stopped] = [it for it in memory if it["metadata"].get("interrupted")]
    # What the door itself remarks on is nobody's answer.
    shown = [text for text in world.texts(ANN) if not text.startswith("ℹ️")]
    assert covers(spoken(memory), shown)
    assert spoken(memory).startswith(begun)
    assert shown[-1] == memory[-1]["content"] == HELLO
    assert stopped["timestamp"] >= stopped["metadata"]["interrupt_timestamp"] >= memory[0]["timestamp"]
    assert stopped["metadata"]["original"].startswith(stopped["content"])
    assert bool(stopped["metadata"]["original"]) == (moment != "during a tool")
    if moment != "during a tool":
        heard = [bare(message.text) for message in script.asked[-1].messages if message.type == "ai"]
        assert heard[-1] == stopped["content"].strip()
        assert len(shown) == (2 if moment == "between two drafts" else 4)
