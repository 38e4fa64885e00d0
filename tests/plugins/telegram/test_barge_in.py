"""A message in the middle of an answer: afterwards memory is what the chat shows, character for character."""

import asyncio
import re
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import pytest

from agents.memory.preferences import Preferences
from app.assistant.short_term_memory import Content, contents
from app.plugins.telegram.delivery import draft
from app.plugins.telegram.delivery.pages import LIMIT
from app.plugins.telegram.door import TelegramDoor
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, Open
from tests.support.scripted_assistant import PLAN, Holding
from tests.support.telegram_server import BotApi
from tests.support.user_words import bare

THREAD = f"telegram-{ANN}"
MOMENTS = ("before the first text", "between two drafts", "behind two pages", "during a tool", "while observers vote")
SAMPLE = ("between two drafts", "behind two pages", "while observers vote")
"""The cases of every run."""
USER = {
    "en": ("tell me of the sea", "no, say hello instead"),
    "ru": ("расскажи мне о море", "нет, лучше поздоровайся"),
}
ANSWER = {
    "en": "Well,  the sea\nis (deep)…  and 😀 wide\n\nso  wide",
    "ru": "Так,  море\nглубоко (да)…  и 😀 широко\n\nоно  велико",
}
WORD = {"en": "unfathomable", "ru": "необозримый"}
HELLO = {"en": "Hello to you.", "ru": "Здравствуйте."}


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


async def settled(telegram: TelegramDoor, world: BotApi) -> None:
    """Wait until nothing is being answered."""
    await world.until(lambda: not telegram.chats.is_busy(ANN))


async def reach(moment: str, lang: str, telegram: TelegramDoor, world: BotApi, script: Script) -> str:
    """Have an answer begun and come to a moment; return what of it was shown by then."""
    words = "".join(f"{WORD[lang]}{place} " for place in range(2 * LIMIT // len(WORD[lang]) + 50))
    match moment:
        case "before the first text":
            script.delays["supervisor"] = 60.0
            script.add(supervisor=[ANSWER[lang]])
            world.says(ANN, USER[lang][0])
            await world.until(lambda: script.asked)
            script.delays.clear()
            return ""
        case "between two drafts":
            script.gates["supervisor"] = gate = Steps(1)
            script.add(supervisor=[ANSWER[lang]])
            world.says(ANN, USER[lang][0])
            await world.until(lambda: gate.holds and world.drafts and world.drafts[-1].frames[-1])
            gate.allow(4)
            await world.until(lambda: gate.holds)
            begun = "".join(re.findall(r"\s*\S+", ANSWER[lang])[:6])
            assert begun.startswith(world.drafts[-1].frames[-1])
            assert world.drafts[-1].frames[-1] != begun
            return begun
        case "behind two pages":
            script.gates["supervisor"] = gate = Steps(2 * LIMIT // len(WORD[lang]) + 20)
            script.add(supervisor=[words])
            world.says(ANN, USER[lang][0])
            await world.until(lambda: gate.holds)
            return words[: 2 * LIMIT]
        case "during a tool":
            script.add(supervisor=[PLAN], planner=[[ANSWER[lang], Call("list_todos")]])
            world.says(ANN, USER[lang][0])
            await world.until(lambda: world.texts(ANN))
            return ANSWER[lang]
        case _:
            script.add(supervisor=[PLAN], planner=[HELLO[lang], ANSWER[lang]])
            await world.asks(ANN, USER[lang][0], sent=1)
            await settled(telegram, world)
            script.delays["observer"] = 60.0
            script.gates["planner"] = gate = Steps(2)
            script.add(observer=["stay"])
            world.says(ANN, USER[lang][0])
            await world.until(lambda: gate.holds)
            script.delays.clear()
            return HELLO[lang]


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
@pytest.mark.parametrize(
    ("lang", "moment"),
    [
        pytest.param(lang, moment, marks=[] if moment in SAMPLE else [pytest.mark.slow])
        for lang, moment in zip(cycle(USER), MOMENTS, strict=False)
    ],
)
async def test_memory_is_what_the_chat_shows(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch, lang: str, moment: str
) -> None:
    """Wherever the answer is cut, the part that stays in the chat is what history and the next prompt have."""

    async def never(*_: object) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr("dialogs.planner.tools.todos.Todos.stored", never)
    async with door() as telegram:
        begun = await reach(moment, lang, telegram, world, script)
        script.gates.clear()
        answers: dict[str, list[Any]] = {
            "supervisor" if script.asked[-1].role == "supervisor" else "planner": [HELLO[lang]]
        }
        script.queues.clear()
        script.add(**answers, observer=["stay"])
        before = len(world.texts(ANN))
        world.says(ANN, USER[lang][1])
        await world.until(lambda: len(world.texts(ANN)) > before and world.texts(ANN)[-1] == HELLO[lang])
        await settled(telegram, world)
        memory = contents(await telegram.assistant.history(THREAD))
    [stopped] = [it for it in memory if it["metadata"].get("interrupted")]
    # What the door itself remarks on is nobody's answer.
    shown = [text for text in world.texts(ANN) if not text.startswith("ℹ️")]
    assert covers(spoken(memory), shown)
    assert spoken(memory).startswith(begun)
    assert shown[-1] == memory[-1]["content"] == HELLO[lang]
    assert stopped["timestamp"] >= stopped["metadata"]["interrupt_timestamp"] >= memory[0]["timestamp"]
    assert stopped["metadata"]["original"].startswith(stopped["content"])
    assert bool(stopped["metadata"]["original"]) == (moment not in ("before the first text", "during a tool"))
    if moment in ("between two drafts", "behind two pages"):
        heard = [bare(message.text) for message in script.asked[-1].messages if message.type == "ai"]
        assert heard[-1] == stopped["content"].strip()
        assert len(shown) == (2 if moment == "between two drafts" else 4)
