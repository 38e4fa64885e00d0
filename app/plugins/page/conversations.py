"""The list of a user's conversations, in pages. A conversation's title is the user's, or its first words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.store.base import BaseStore, GetOp, Item

from agents.memory.inbox import TranscriptLine
from agents.memory.store import Namespace, namespace_of_thread
from agents.memory.thread_list import RecentThread, comparable
from app.assistant import Assistant
from app.presentation.texts import one_line
from app.security.api_keys import Key

MOST_LISTED, MOST_SEARCHED = 30, 100
"""Conversations on a page of the list, and conversations that a search examines for a page."""
LONGEST_TITLE, TELLING = 60, 16
"""Characters of a title, at most and at least: a shorter first message ("hello") takes in the next one."""


@dataclass(frozen=True)
class ListedConversation:
    """A conversation in the list; `name` is its visitor's name of it."""

    name: str
    title: str
    active_ms: int


@dataclass(frozen=True)
class ConversationPage:
    """A page of the list, and the place where the next one begins; None on the last one."""

    rows: Sequence[ListedConversation]
    next: int | None


async def conversations_of(
    assistant: Assistant, visitor: Key, user: str, before: int | None = None, query: str = ""
) -> ConversationPage:
    """Return the conversations before a place that contain the words of `query`, the latest first."""
    most, threads = (MOST_SEARCHED if query else MOST_LISTED), assistant.memory.threads
    recent = await threads.recent(user, before, most)
    titles = await _titles(assistant.memory.store, user, recent)
    rows = []
    for info in recent:
        name, title = visitor.outside(info.thread), titles.get(info.thread) or _made_of(info.words)
        is_meant = comparable(query) in comparable(title or name or "")
        if name and (is_meant or await threads.has_words(info.thread, query, user)):
            rows.append(ListedConversation(name, title or name, info.active_ms))
    return ConversationPage(rows, recent[-1].place if len(recent) == most else None)


async def rename(store: BaseStore, thread: str, user: str, title: str) -> None:
    """Set a conversation's title in this user's list; an empty title restores its first words."""
    line = one_line(title, LONGEST_TITLE)
    await store.aput(_titles_in(thread), user, {"title": line})


async def title_in(store: BaseStore, thread: str, user: str, lines: Sequence[TranscriptLine]) -> str:
    """Return the title of a conversation in this user's list; empty if no user has written in it."""
    item = await store.aget(_titles_in(thread), user)
    return str(item.value["title"] if item else "") or _made_of([line.text for line in lines if line.role == "user"])


async def _titles(store: BaseStore, user: str, threads: Sequence[RecentThread]) -> Mapping[str, str]:
    items = await store.abatch([GetOp(_titles_in(info.thread), user) for info in threads])
    return {
        info.thread: item.value["title"] for info, item in zip(threads, items, strict=True) if isinstance(item, Item)
    }


def _titles_in(thread: str) -> Namespace:
    # The deletion of the thread deletes these titles too.
    return namespace_of_thread(thread, "titles")


def _made_of(words: Sequence[str]) -> str:
    title = ""
    for text in words:
        if len(title) < TELLING:
            title = " · ".join(filter(None, [title, one_line(text, LONGEST_TITLE)]))
    return one_line(title, LONGEST_TITLE)
