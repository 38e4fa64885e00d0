"""Histories that clients send: each leads to a thread, and to the turn in it at which the history ends.

If the client names the chat, the position in it finds the turn. If it names the user alone, the user's messages do.
If it names neither, the messages of both sides do; of several talks with equal beginnings each has a thread.
"""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import HTTPException
from langgraph.store.base import BaseStore, PutOp, SearchItem

from agents.memory.inbox import storable
from agents.memory.store import LINKS, Namespace, namespace_of, namespace_of_thread
from agents.state.person import RESULT
from agents.toolkit.questions import CHOICE
from app.assistant import Assistant
from app.assistant.branches import BEGINNING, parents_in
from app.assistant.turn import Exchange, Turn
from app.doors.http.exchange import BETWEEN
from app.security.api_keys import Key

MOST_EQUAL = 20
"""Limit of stored talks with the same words that a search compares, the latest first."""


class UnknownAnswer(HTTPException):
    """The client names an answer that it never got (404)."""


@dataclass(frozen=True)
class Place:
    """The place of a message in a thread: the `thread`, `id`, `after` and `before` of its `Turn`."""

    thread: str
    after: str | None
    before: Sequence[Exchange] = ()
    id: str = ""
    """The id of the same message, if it came before at this place and has no answer; else a new one."""

    def turn(self, text: str, **fields: Any) -> Turn:
        """Return the turn of a message at this place."""
        return Turn(thread=self.thread, text=text, id=self.id, after=self.after, before=self.before, **fields)


@dataclass(frozen=True)
class Histories:
    """The stored histories of a caller, of one of the caller's users, or of one chat."""

    assistant: Assistant
    key: Key
    user: str | None = None
    """The user's name in the database."""
    chat: str | None = None
    """The thread of the chat, if the client names it."""
    resends: bool = True
    """Whether the client always sends the whole history of a chat; else it may leave out stored messages."""

    async def place(
        self, history: Sequence[Exchange], message: Exchange, id: str | None = None, behind: str | None = None
    ) -> Place:
        """Return the place of a message that follows this history, and note it.

        `id` is the message's id, if it has one. `behind` is the id of the message whose answer the history follows,
        empty if the client names none; with `behind` the client can later name this message in turn.

        Raises:
            UnknownAnswer: the message `behind` is unknown, or another user's.
        """
        greeting, history = _parted(history)
        chains, spoken, text = self._chains([*history, message]), _digests(history), message.text or ""
        async with self.assistant.memory.locks.hold(f"\0histories {self.key.name} {self.user} {self.chat}"):
            if behind:
                place, before = await self._behind(behind, history), None
            elif self.chat is not None:
                place, before = await self._in_chat(self.chat, history, chains[-2], spoken[-1], text), None
                place = replace(place, after=await self._behind_answers(self.chat, place.after, message.source))
            else:
                place, before = await self._by_words(history, chains[:-1], spoken, text, id)
            most = self.assistant.limits.message_length
            if greeting and place.after == BEGINNING:
                place = await self._behind_greeting(place, greeting)
            rest = [
                replace(each, text=each.text and each.text[:most], answer=each.answer[:most]) for each in place.before
            ]
            place = replace(
                place, before=rest, id=id or place.id or await self._unanswered(place, text) or uuid.uuid4().hex
            )
            source, thread = place.thread, place.thread
            if before and self.user is None and before.value["next"] not in ("", place.id):
                # The owner of the talk is unknown: the message goes on in a copy.
                thread = self._new()
            elif before:
                # From now on the cut answer counts as the answer.
                talk = before.value["talk"] or ("" if place.before else spoken[-1])
                value = {**before.value, "next": place.id, "talk": talk}
                await self._store.aput(before.namespace, before.key, value)
            puts = [
                PutOp(namespace_of_thread(thread, LINKS), place.id, {"namespace": [*chains[-1]]}),
                PutOp(chains[-1], place.id, {"thread": thread, "talk": "", "next": ""}),
            ]
            if behind is not None:
                name, value = f"{place.id}/", {"thread": thread, "user": self.user or ""}
                puts.append(PutOp(namespace_of_thread(thread, LINKS), name, {"namespace": [*self._named]}))
                puts.append(PutOp(self._named, name, value))
            await self._store.abatch(puts)
        if thread != source:
            at = await self.assistant.branches.copy(source, place.after or BEGINNING, thread, place.before)
            return Place(thread, at, (), place.id)
        return place

    async def keep(self, place: Place, history: Sequence[Exchange], message: Exchange, answer: str) -> None:
        """Note the answer to a message at its place."""
        history = [*_parted(history)[1], replace(message, answer=answer)]
        item = await self._store.aget(self._chains(history)[-1], place.id)
        if item:
            await self._store.aput(item.namespace, item.key, {**item.value, "talk": _digests(history)[-1]})

    async def _behind(self, message: str, history: Sequence[Exchange]) -> Place:
        """Return the place after a message that this caller and user got an answer to."""
        item = await self._store.aget(self._named, f"{message}/")
        if item is None or item.value["user"] != (self.user or ""):
            raise UnknownAnswer(404, "There is no such response.")
        return Place(str(item.value["thread"]), message, history)

    async def _in_chat(self, chat: str, history: Sequence[Exchange], chain: Namespace, spoken: str, text: str) -> Place:
        """Return the place in a chat where a history ends."""
        items = await self._store.asearch(chain, limit=MOST_EQUAL) if history else []
        for item in sorted(items, key=lambda item: item.value["talk"] != spoken):
            # The assistant has never played a refused message.
            if await self.assistant.message(chat, item.key):
                return Place(chat, item.key)
        if not history and self.resends:
            return Place(chat, BEGINNING)
        branches = self.assistant.branches
        at = await branches.at(chat)
        if history and await self._ends_with(chat, at, history):
            # The client may have dropped the beginning.
            return Place(chat, at)
        if not history and await self._is_new_alone(chat, at):
            return Place(chat, None)
        path, lines = await branches.path(chat, at), await self.assistant.memory.transcript.lines(chat)
        # A client may leave out the results of its tools.
        hidden = {CHOICE} if any(each.source == RESULT for each in history) else {CHOICE, RESULT}
        messages = [line for line in lines if line.role == "user" and line.metadata.get("source") not in hidden]
        texts = {line.message_id: line.text for line in messages}
        path = [id for id in path if id in texts]
        if not history:
            # A client may send a history once, and from then on the new message alone.
            first = texts[path[0]] if path else text
            is_again = first == text and (len(path) <= 1 or bool(await branches.parent(chat, path[1])))
            return Place(chat, BEGINNING if not path or is_again else None)
        if len(history) <= len(path):
            return Place(chat, path[len(history) - 1])
        return Place(chat, path[-1] if path else BEGINNING, history[len(path) :])

    async def _behind_greeting(self, place: Place, greeting: Sequence[Exchange]) -> Place:
        """Return the place after the greeting of a thread; a thread without one takes over the client's greeting."""
        branches = self.assistant.branches
        at = await branches.at(place.thread)
        [first, *_] = await branches.path(place.thread, at) if at else [""]
        entry = await self.assistant.message(place.thread, first) if first else None
        if entry and entry.text is None:
            return replace(place, after=first)
        return replace(place, before=[*greeting, *place.before])

    async def _behind_answers(self, chat: str, after: str | None, source: str) -> str | None:
        """Return the last message after a turn that histories leave out: an answer to the turn's question.

        A client may also leave out the results of its tools, unless the new message is such a result.
        """
        answers = {CHOICE} if source == RESULT else {CHOICE, RESULT}
        at = await self.assistant.branches.at(chat) if after else after
        path = await self.assistant.branches.path(chat, at) if at and at != after else []
        for id in path[path.index(after) + 1 :] if after in path else []:
            entry = await self.assistant.message(chat, id)
            if entry is None or entry.source not in answers:
                break
            after = id
        return after

    async def _ends_with(self, chat: str, at: str, history: Sequence[Exchange]) -> bool:
        """Tell whether a chat ends with these messages at a message, each noted as the parent of the next."""
        for exchange in reversed(history):
            entry = await self.assistant.message(chat, at) if at else None
            if entry is None or entry.text != exchange.text:
                return False
            at = await self.assistant.branches.parent(chat, at) or BEGINNING
        return True

    async def _is_new_alone(self, chat: str, at: str) -> bool:
        """Tell whether a chat of several turns has never come with a history: then a message alone is the next one."""
        last = await self.assistant.message(chat, at) if at else None
        notes = await self._store.asearch(parents_in(chat), limit=MOST_EQUAL)
        is_first = last is None or last.turn <= 1 or any(note.key == at for note in notes)
        return not is_first and not any(note.value["parent"] for note in notes)

    async def _by_words(
        self,
        history: Sequence[Exchange],
        chains: Sequence[Namespace],
        spoken: Sequence[str],
        text: str,
        id: str | None,
    ) -> tuple[Place, SearchItem | None]:
        """Return the place of a history by its words, and the stored turn at which its known beginning ends."""
        for size in range(len(history), 0, -1):
            items = await self._store.asearch(chains[size], limit=MOST_EQUAL)
            if self.user is None:
                equal = [item for item in items if item.value["talk"] == spoken[size]]
                before = chains[size - 1] if size > 1 else None
                answer, digest = history[size - 1].answer, spoken[size - 1]
                items = equal or [item for item in items if await self._is_same(item, answer, before, digest)]
            if size == len(history):
                for item in items:
                    thread, sent = str(item.value["thread"]), str(item.value["next"])
                    entry = await self.assistant.message(thread, sent) if sent else None
                    if entry and entry.text == text and (sent == id or entry.status in ("open", "failed")):
                        return Place(thread, item.key, (), sent), item
            # A talk without a next message belongs to no other client yet.
            for item in sorted(items, key=lambda item: bool(item.value["next"])):
                if await self.assistant.message(str(item.value["thread"]), item.key):
                    return Place(str(item.value["thread"]), item.key, history[size:]), item
        return Place(self._new(), BEGINNING, history), None

    async def _is_same(self, item: SearchItem, answer: str, chain: Namespace | None, spoken: str) -> bool:
        """Tell whether a turn has this answer, perhaps cut by Stop, and the history's messages come before it.

        `chain` is the namespace of the turn before it, if there is one, and `spoken` the digest of the messages up to
        there. So no client sees an answer that it does not know.
        """
        thread, sent = str(item.value["thread"]), answer.strip()
        if chain:
            parent = await self.assistant.branches.parent(thread, item.key)
            before = await self._store.aget(chain, parent) if parent else None
            if before is None or before.value["talk"] != spoken:
                return False
        lines = await self.assistant.memory.transcript.lines(thread, message_id=item.key)
        answered = BETWEEN.join(line.text for line in lines if line.role == "assistant")
        return bool(sent) and answered.startswith(sent)

    async def _unanswered(self, place: Place, text: str) -> str:
        """Return the id of a thread's last message if it has this text and no answer; else an empty text."""
        last = await self.assistant.last_message(place.thread, self.user or place.thread)
        if last is None or last.status not in ("open", "failed") or last.text != storable(text):
            return ""
        parent = await self.assistant.branches.parent(place.thread, last.message_id)
        return last.message_id if parent is None or place.after in (None, parent) else ""

    def _chains(self, history: Sequence[Exchange]) -> list[Namespace]:
        """Return the namespaces of the turns at which each beginning of a history ends, by a digest of its words."""
        chain = hashlib.sha256(repr((self.chat, self.user if self.chat is None else "")).encode("utf-8", "replace"))
        chains = [self._kept(chain.hexdigest())]
        for exchange in history:
            chain.update(hashlib.sha256((exchange.text or "").strip().encode("utf-8", "replace")).digest())
            chains.append(self._kept(chain.hexdigest()))
        return chains

    def _kept(self, digest: str) -> Namespace:
        return namespace_of(f"http:{self.key.name}", "histories", digest)

    @property
    def _named(self) -> Namespace:
        """The namespace of the messages that a client may name, with their threads; each key is an id and a slash."""
        return namespace_of(f"http:{self.key.name}", "answered")

    def _new(self) -> str:
        return self.key.inside(uuid.uuid4().hex)

    @property
    def _store(self) -> BaseStore:
        return self.assistant.memory.store


def _parted(history: Sequence[Exchange]) -> tuple[Sequence[Exchange], Sequence[Exchange]]:
    """Return the greeting at the head of a history, if it has one, and the messages after it."""
    count = sum(exchange.text is None for exchange in history[:1])
    return history[:count], history[count:]


def _digests(history: Sequence[Exchange]) -> list[str]:
    """Return a digest of each beginning of a history with both sides, the empty beginning first."""
    digest = hashlib.sha256()
    digests = [digest.hexdigest()]
    for exchange in history:
        for words in (exchange.text or "", exchange.answer):
            digest.update(hashlib.sha256(words.strip().encode("utf-8", "replace")).digest())
        digests.append(digest.hexdigest())
    return digests
