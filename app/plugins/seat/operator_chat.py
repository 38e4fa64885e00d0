"""The chat of the operators: calls for a person are posted there, and its members take over, answer and hand back."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal

from agents.errors import UsageError
from agents.language.text.clean import clean
from app.doors.operators import OperatorChat, OperatorChats, OperatorWord, PostToOperators
from app.plugins.seat.place import Operator, Seat
from app.plugins.seat.posts import Posts, SeatWatch
from app.plugins.seat.seats import Seats, take_seat
from app.presentation.lines import history_lines
from app.security.audit import Action, deed
from prompts import sentence

if TYPE_CHECKING:
    from app.assistant import Assistant

SHOWN_BEFORE = 6
"""The number of lines of a conversation in a post on a call."""
LONGEST = 3_500
"""The most characters of a post."""
TAKE, FORCE, BACK = "seat take", "seat force", "seat back"
"""The texts that the buttons send."""
HAND_BACK = "/back"
"""The beginning of an answer that hands the conversation back; a note for the assistant may follow."""


class SeatChats(OperatorChats):
    """Posts calls for a person to a chat; `people` may take over there."""

    setting = "OPERATOR_CHAT"

    def __init__(self, chat: int, people: frozenset[int] | Literal["*"]) -> None:
        self.chat, self.people = chat, people

    def open(self, assistant: "Assistant", post: PostToOperators, lang: str) -> "SeatChat":
        """See `OperatorChats`."""
        return SeatChat(self, assistant, post, lang)


class SeatChat(OperatorChat):
    """Posts the seats' news to the operators' chat, and carries out taps and answers from there."""

    def __init__(self, chats: SeatChats, assistant: "Assistant", post: PostToOperators, lang: str) -> None:
        self._assistant, self._people, self._send, self._lang = assistant, chats.people, post, lang
        self._seats = assistant.services.get(Seats)
        self._posts = Posts(assistant.memory.database, chats.chat)
        self._hands = asyncio.Lock()
        """Held during a take-over, so that no look sees one that is not yet noted."""

    async def look(self) -> None:
        """Post the news of all seats."""
        async with self._hands:
            await self._look()

    async def _look(self) -> None:
        """Post calls, messages to members who hold a thread, and ends from elsewhere; each once."""
        seats = {seat.thread: seat for seat in await self._seats.all()}
        watches = await self._posts.watched()
        for thread, former in watches.items():
            if thread not in seats or seats[thread].holder_id != former.holder:
                holder = seats[thread].holder if thread in seats else ""
                # In the other order, a kill between the two would lose the post.
                await self._post(thread, "", "held_elsewhere" if holder else "over", name=holder)
                await self._posts.leave(thread)
        for thread, seat in seats.items():
            watch = watches.get(thread)
            if not seat.holder and (watch is None or watch.since_ms != seat.since_ms):
                await self._post_call(seat)
            elif watch and watch.holder and watch.holder == seat.holder_id:
                await self._post_news(seat, watch)

    async def thread_of(self, word: OperatorWord) -> str | None:
        """Return the thread of a post; None if the post is not known, or the button belongs to another post."""
        return await self._posts.thread_of(word.post) if word.button in ("", TAKE, FORCE, BACK) else None

    def refusal(self, word: OperatorWord) -> str:
        """Return the refusal to a person who may not take over; empty for one who may."""
        may = word.user is not None and (self._people == "*" or word.user in self._people)
        return "" if may else self._say("not_allowed")

    async def hear(self, thread: str, word: OperatorWord) -> None:
        """Take over, hand back, or pass an operator's words on to the user."""
        if word.button:
            async with self._hands:
                await self._tap(thread, word)
        else:
            await self._answer(thread, word)

    def _deed(self, word: OperatorWord, what: Action, thread: str) -> AbstractAsyncContextManager[None]:
        return deed(self._assistant.services, f"{word.door}:{word.user}", what, thread, word.name)

    async def _tap(self, thread: str, word: OperatorWord) -> None:
        person = _person(word)
        try:
            if word.button == BACK:
                async with self._deed(word, "seat_left", thread):
                    await self._seats.hand_back(thread, person)
            else:
                async with self._deed(word, "seat_taken", thread):
                    seat = await take_seat(self._assistant, thread, person, force=word.button == FORCE)
                await self._watch(seat)
                await self._post(thread, seat.user, "taken_here", BACK, name=person.name)
        except UsageError:
            await self._refuse(thread)

    async def _watch(self, seat: Seat) -> None:
        """Post the user's messages since the take-over; after a kill it may be long ago."""
        watch = (await self._posts.watched()).get(seat.thread)
        if watch is None or watch.holder != seat.holder_id:
            notice = sentence("seat/phrases", "taken", seat.lang, name=seat.holder)
            lines = await self._assistant.history(seat.thread)
            places = [number for number, line in enumerate(lines, 1) if line.text == notice]
            await self._posts.watch(seat, seat.holder_id, places[-1] if places else len(lines))

    async def _answer(self, thread: str, word: OperatorWord) -> None:
        person = _person(word)
        command, _, note = word.text.partition(" ")
        try:
            if command == HAND_BACK:
                async with self._deed(word, "seat_left", thread):
                    await self._seats.hand_back(thread, person, note)
            elif word.text:
                async with self._deed(word, "seat_said", thread):
                    await self._seats.say(thread, person, word.text, word.id)
            else:
                await self._post(thread, "", "only_text")
        except UsageError:
            await self._refuse(thread)

    async def _refuse(self, thread: str) -> None:
        """Post the holder of the thread, with a button to take it all the same."""
        seat = await self._seats.of(thread)
        if seat and seat.holder:
            await self._post(thread, seat.user, "holds", FORCE, name=seat.holder)
        else:
            last = await self._assistant.memory.transcript.last(thread)
            await self._post(thread, last.user if last else "", "free", TAKE)

    async def _post_call(self, seat: Seat) -> None:
        lines = await self._assistant.history(seat.thread)
        shown = "\n".join(history_lines(lines[-SHOWN_BEFORE:], self._lang))
        about = {"caller": seat.caller or "", "reason": seat.reason or "–", "said": shown}
        await self._post(seat.thread, seat.user, "call", TAKE, **about)
        await self._posts.watch(seat, "", len(lines))

    async def _post_news(self, seat: Seat, watch: SeatWatch) -> None:
        lines = await self._assistant.history(seat.thread)
        for number, line in enumerate(lines[watch.seen :], watch.seen + 1):
            if line.role == "user":
                await self._post(seat.thread, seat.user, "said", BACK, writer=line.speaker, text=line.text)
            await self._posts.watch(seat, watch.holder, number)

    async def _post(self, thread: str, user: str, key: str, button: str = "", **about: object) -> None:
        """Post a sentence on a thread, with a button; answers to it are for the thread's user."""
        text = clean(self._say(key, thread=thread, **about))[:LONGEST]
        label = self._say(f"button_{button.partition(' ')[2]}") if button else ""
        number = await self._send(text, button, label)
        if user:
            await self._posts.note(number, thread, user)

    def _say(self, key: str, **about: object) -> str:
        return sentence("seat/phrases", f"chat.{key}", self._lang, **about)


def _person(word: OperatorWord) -> Operator:
    return Operator(word.name, f"{word.door} {word.user}")
