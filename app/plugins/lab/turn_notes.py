"""Notes and labels of the team on turns of threads. They are kept with the thread, and `forget` deletes them."""

from collections.abc import Mapping

from langgraph.store.base import BaseStore
from pydantic import Field

from agents.memory.store import Namespace, namespace_of_thread
from app.yaml_file import FilePart

MOST_NOTES = 10_000
"""The most notes of a thread that are read."""


class TurnNote(FilePart):
    """The team's note on a turn."""

    labels: tuple[str, ...] = Field(default=(), max_length=20)
    text: str = Field(default="", max_length=2_000)
    by: str = ""
    """The author of the note."""


def _place(thread: str) -> Namespace:
    return namespace_of_thread(thread, "lab_notes")


async def notes_of(store: BaseStore, thread: str) -> Mapping[str, TurnNote]:
    """Return the notes of a thread by the messages of their turns."""
    items = await store.asearch(_place(thread), limit=MOST_NOTES)
    return {item.key: TurnNote.model_validate(item.value) for item in items}


async def note(store: BaseStore, thread: str, message: str, noted: TurnNote) -> None:
    """Keep a note of a turn; an empty one takes the former one away."""
    if noted.labels or noted.text:
        await store.aput(_place(thread), message, noted.model_dump(mode="json"))
    else:
        await store.adelete(_place(thread), message)
