"""Stopping an answer at the terminal: afterwards memory is what was shown, character for character."""

import asyncio
import json
from functools import partial
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from app.assistant.short_term_memory import contents
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.screens import JsonLines, PlainText
from app.testing import Chat
from app.testing.script import Call
from tests.support.scripted_assistant import PLAN, Holding
from tests.support.terminal_visit import visit_to
from tests.support.until import until

ANSWER = {
    "en": "Well,  the sea\nis (deep)…  and 😀 wide\n\nso  wide",
    "ru": "Так,  море\nглубоко (да)…  и 😀 широко\n\nоно  велико",
}
LONG = {
    lang: " ".join(f"{word}{place}" for place in range(300))
    for lang, word in (("en", "unfathomable"), ("ru", "необозримый"))
}


class Shown:
    """The output of a visit's screens: as plain text, as events, as Markdown."""

    def __init__(self, lang: str) -> None:
        self.plain, self.remarks, self.events, self.live = StringIO(), StringIO(), StringIO(), StringIO()
        console = Console(file=self.live, width=100)
        self.screens = (
            PlainText(self.plain, self.remarks, lang),
            JsonLines(self.events),
            LiveMarkdown(console, lang),
        )

    def tokens(self) -> str:
        """Return the pieces of the answers, put together."""
        events: list[dict[str, Any]] = [json.loads(line) for line in self.events.getvalue().splitlines()]
        return "".join(event["text"] for event in events if event["type"] == "token")


async def never(*_: object) -> str:
    """Be a tool that does not end."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.needs("planner")
@pytest.mark.parametrize("lang", ["en", pytest.param("ru", marks=pytest.mark.slow)])
async def test_memory_is_what_was_shown(chat: Chat, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    """Stopped before the first text, in the middle, far down a long answer, and while a tool runs."""
    monkeypatch.setattr("dialogs.planner.tools.todos.Todos.stored", never)
    moments: list[tuple[str, str, Holding, dict[str, Any]]] = [
        ("first", "supervisor", Holding(0), {"supervisor": [ANSWER[lang]]}),
        ("middle", "supervisor", Holding(4), {"supervisor": [ANSWER[lang]]}),
        ("long", "supervisor", Holding(250), {"supervisor": [LONG[lang]]}),
        ("tool", "planner", Holding(20), {"supervisor": [PLAN], "planner": [[ANSWER[lang], Call("list_todos")]]}),
    ]
    async with chat.assistant() as assistant:
        for thread, role, gate, replies in moments:
            shown = Shown(lang)
            visit = visit_to(assistant, thread, *shown.screens)
            visit.lang = lang
            chat.script.gates = {role: gate}
            chat.script.delays = {"supervisor": 60.0} if thread == "first" else {}
            asked = len(chat.script.asked)
            chat.expects(**replies)
            playing = asyncio.create_task(visit.play(visit.turn("tell me of the sea")))
            if thread == "first":
                await until(partial(lambda asked: len(chat.script.asked) > asked, asked))
            elif thread == "tool":
                await until(shown.plain.getvalue)
            else:
                await until(partial(lambda gate: gate.holds, gate))
            assert await visit.door.stop(visit.thread)
            await playing
            memory = contents(await assistant.history(thread))
            answers = [it["content"] for it in memory if it["role"] == "assistant" and it["content"]]
            assert memory[-1]["metadata"]["interrupted"]
            assert "".join(f"{text}\n" for text in answers) == shown.plain.getvalue()
            assert "".join(answers) == shown.tokens().rstrip()
            assert "".join(answers).split() == shown.live.getvalue().replace("planner\n", "").split("⏹")[0].split()
            assert (ANSWER if thread != "long" else LONG)[lang].startswith("".join(answers))
