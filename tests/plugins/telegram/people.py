"""The people who write to the bot in these tests, and the moments that they wait for."""

import asyncio
from collections.abc import Callable
from typing import Any

from agents.memory import Memory
from agents.memory.store import namespace_of
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.place import DOOR
from app.testing.script import Call
from tests.support.until import until

ANN, BOB, GROUP = 11, 22, -100777
MEET = Call("get_acquainted", {"brief": "wants to get acquainted"})
Open = Callable[..., Any]


async def until_stored(door: TelegramDoor, thread: str, number: int, text: str | None = None) -> None:
    """Wait until so many messages of a thread are in the inbox, and the last one has this text."""

    async def are_stored() -> bool:
        entries = await door.assistant.memory.transcript.open_entries(thread)
        return len(entries) >= number and text in (None, entries[-1].text)

    await until(are_stored)


async def until_closed(memory: Memory, thread: str) -> None:
    """Wait until the outcome of a thread's last message is stored."""

    async def is_closed() -> bool:
        entry = await memory.transcript.last(thread)
        return entry is not None and entry.status != "open"

    await until(is_closed)


async def until_noted(door: TelegramDoor, thread: str) -> None:
    """Wait until the receipt is stored of what the chat was shown of the running turn."""
    store = door.assistant.memory.store

    async def is_noted() -> bool:
        receipts = await store.asearch(namespace_of(thread, DOOR))
        return any(receipt.value.get("delivered") or receipt.value.get("growing") for receipt in receipts)

    await until(is_noted)


async def never(*_: object, **__: object) -> None:
    """Come to no end, as where a process is killed."""
    await asyncio.Event().wait()


def labels(message: dict[str, Any]) -> list[list[str]]:
    """Return the labels of a message's buttons, row by row."""
    return [[button["text"] for button in row] for row in message["reply_markup"]["inline_keyboard"]]
