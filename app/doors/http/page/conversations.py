"""The conversations of a user, a page of the list at a time. A title is given, or made of the first words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.store.base import BaseStore, GetOp, Item

from agents.memory.inbox import RecentThread
from agents.memory.store import Namespace, namespace_of_thread
from agents.memory.thread_list import comparable, has_words
from app.assistant import Assistant
from app.presentation.texts import one_line
from app.security.api_keys import Key

MOST_LISTED, MOST_SEARCHED = 30, 100
"""Conversations of a page, and conversations that a search looks through for a page."""
LONGEST_TITLE, TELLING = 60, 16
"""Characters of a title, and of one that tells enough: a shorter one ("hello") is joined with the next words."""


@dataclass(frozen=True)
class ListedConversation:
    """A conversation in the list; `name` is what its visitor calls it."""

    name: str
    title: str
    active_ms: int


@dataclass(frozen=True)
class ConversationPage:
    """A page of the list, and the place at which the next one begins; None behind the last."""

    rows: Sequence[ListedConversation]
    next: int | None


async def conversations_of(
    assistant: Assistant, visitor: Key, user: str, before: int | None = None, query: str = ""
) -> ConversationPage:
    """Return the conversations before a place, those that have the words of `query`; the latest stands first."""
    most, transcript = (MOST_SEARCHED if query else MOST_LISTED), assistant.memory.transcript
    recent = await transcript.recent(user, before, most)
    titles = await _titles(assistant.memory.store, user, recent)
    rows = []
    for info in recent:
        name, title = visitor.outside(info.thread), titles.get(info.thread) or _made_of(info.words)
        is_meant = comparable(query) in comparable(title or name or "")
        if name and (is_meant or await has_words(transcript, info.thread, query, user)):
            rows.append(ListedConversation(name, title or name, info.active_ms))
    return ConversationPage(rows, recent[-1].place if len(recent) == most else None)


async def rename(store: BaseStore, thread: str, user: str, title: str) -> None:
    """Call a conversation so in this user's list; empty: by its first words again."""
    line = one_line(title, LONGEST_TITLE)
    await store.aput(_titles_in(thread), user, {"title": line})


async def _titles(store: BaseStore, user: str, threads: Sequence[RecentThread]) -> Mapping[str, str]:
    items = await store.abatch([GetOp(_titles_in(info.thread), user) for info in threads])
    return {
        info.thread: item.value["title"] for info, item in zip(threads, items, strict=True) if isinstance(item, Item)
    }


def _titles_in(thread: str) -> Namespace:
    # Whoever forgets the thread forgets these as well.
    return namespace_of_thread(thread, "titles")


def _made_of(words: Sequence[str]) -> str:
    title = ""
    for text in words:
        if len(title) < TELLING:
            title = " · ".join(filter(None, [title, one_line(text, LONGEST_TITLE)]))
    return one_line(title, LONGEST_TITLE)
