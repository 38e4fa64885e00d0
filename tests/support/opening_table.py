"""People's opening sentences, by dialog and language, and the speakers that take them under `local:rules`.

A table is `tests/dialogs/<name>/openings/<lang>.txt`, one sentence on each line. `python -m
tests.support.opening_table` says every sentence in a new conversation. It prints the outcome of those that neither the
dialog nor one of its tools has taken.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.events import Message, ToolStart
from app.assistant import Turn
from tests.support.standin_table import SIDE_BY_SIDE, Standin, standin

DIALOGS = Path(__file__).parents[1] / "dialogs"
PLACES = [(path.parents[1].name, path.stem) for path in sorted(DIALOGS.glob("*/openings/*.txt"))]
"""The dialog and the language of each table."""


@dataclass(frozen=True)
class Opening:
    """A sentence, the dialogs that spoke or whose tools were called, and the answer."""

    text: str
    dialogs: frozenset[str]
    reply: str


def sentences(dialog: str, lang: str) -> list[str]:
    """Return the sentences of a table."""
    return (DIALOGS / dialog / "openings" / f"{lang}.txt").read_text("utf-8").splitlines()


async def openings(path: Path, lang: str, texts: Sequence[str]) -> list[Opening]:
    """Say each text in a new conversation."""
    side_by_side = asyncio.Semaphore(SIDE_BY_SIDE)
    async with standin(path) as room:

        async def opening(number: int, text: str) -> Opening:
            async with side_by_side:
                return await _answer(room, f"user{number}", text, lang)

        return await asyncio.gather(*(opening(number, text) for number, text in enumerate(texts)))


async def _answer(room: Standin, user: str, text: str, lang: str) -> Opening:
    turn = Turn(thread=user, text=text, lang=lang)
    events = [event async for event in room.assistant.play(turn)]
    dialogs = {name: {tool.name for tool in dialog.tools} for name, dialog in room.assistant.speakers.dialogs.items()}
    called = {event.tool for event in events if isinstance(event, ToolStart)}
    messages = [event for event in events if isinstance(event, Message)]
    spoke = {message.speaker for message in messages} | {(await room.assistant.state(user) or {}).get("dialog")}
    acting = frozenset(name for name, tools in dialogs.items() if name in spoke or called & tools)
    return Opening(text, acting, " / ".join(message.text for message in messages))


async def _report() -> None:
    for dialog, lang in PLACES:
        with tempfile.TemporaryDirectory() as folder:
            results = await openings(Path(folder) / "said.db", lang, sentences(dialog, lang))
        own = sum(dialog in opening.dialogs for opening in results)
        sys.stdout.write(f"{dialog} {lang}: {own} of {len(results)}\n")
        for opening in results:
            if opening.dialogs != {dialog}:
                dialogs = ", ".join(sorted(opening.dialogs)) or "nobody"
                sys.stdout.write(f"    {dialogs}: {opening.text} -> {opening.reply[:60]!r}\n")


if __name__ == "__main__":
    asyncio.run(_report())
