"""The chat of the operators: calls for a person are posted there, and its members take over, answer and hand back."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Message, Update, User

from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.memory.updates import StoredUpdate
from app.doors.telegram.access import Allowed
from app.doors.telegram.delivery.posting import Posting
from app.doors.telegram.delivery.sender import TextRefused
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import TelegramPlace
from app.doors.telegram.updates.taps import answer, settle
from app.plugins.seat.place import Operator, Seat
from app.plugins.seat.posts import Posts, SeatWatch
from app.plugins.seat.seats import Seats, take_seat
from app.presentation.listing import history_lines
from app.security.audit import Action, deed
from prompts import sentence

LOOK = 2.0
"""Seconds between two looks for calls and messages, because other processes store some, too."""
SHOWN_BEFORE = 6
"""Lines of a conversation that are posted with a call."""
LONGEST = 3_500
"""Characters of a post."""
TAKE, FORCE, BACK = "seat take", "seat force", "seat back"
"""What the buttons send."""
HAND_BACK = "/back"
"""Begins an answer that hands the conversation back; a note for the assistant may follow."""


class OperatorChat(Posting):
    """Post what concerns operators to their chat, and do what they tap and answer there; `people` may."""

    setting = "OPERATOR_CHAT"

    def __init__(self, door: TelegramDoor, chat: int, people: Allowed, lang: str) -> None:
        self._door, self._to, self._people, self._lang = door, TelegramPlace(chat), people, lang
        self._assistant, self._seats = door.assistant, door.assistant.services.get(Seats)
        self._posts = Posts(door.assistant.memory.database, chat)
        self._hands = asyncio.Lock()
        """Keeps a look away from a take-over that is not yet noted."""

    async def post(self) -> None:
        """Post what is new."""
        async with self._hands:
            await self.look()
        await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Post calls, messages to members who hold a thread, and what has ended elsewhere; each once."""
        seats = {seat.thread: seat for seat in await self._seats.all()}
        watches = await self._posts.watched()
        for thread, former in watches.items():
            if thread not in seats or seats[thread].holder_id != former.holder:
                holder = seats[thread].holder if thread in seats else ""
                # Not the other way round: a kill between the two would lose the post.
                await self._post(thread, "", "held_elsewhere" if holder else "over", name=holder)
                await self._posts.leave(thread)
        for thread, seat in seats.items():
            watch = watches.get(thread)
            if not seat.holder and (watch is None or watch.since_ms != seat.since_ms):
                await self._post_call(seat)
            elif watch and watch.holder and watch.holder == seat.holder_id:
                await self._post_news(seat, watch)

    async def claims(self, update: Update) -> str | None:
        """Return the thread that an update of this chat is about; None if it is no answer or tap of an operator."""
        query, message = update.callback_query, update.message
        about = query.message if query else message.reply_to_message if message else None
        is_tap = query is None or query.data in (TAKE, FORCE, BACK)
        if about is None or about.chat.id != self._door.names.now(self._to.chat) or not is_tap:
            return None
        return await self._posts.thread_of(about.message_id)

    def begin(self, thread: str, update: Update, stored: StoredUpdate) -> None:
        """Do what an update says after what was said of its thread before, and close its row."""
        self._door.chats.add(f"operators {thread}", partial(self._do, thread, update, stored))

    async def _do(self, thread: str, update: Update, stored: StoredUpdate) -> None:
        query, message, user = update.callback_query, update.message, update.effective_user
        if user is None or not self._may(user):
            if query:
                await answer(query, self._say("not_allowed"))
        elif query:
            await settle(query)
            async with self._hands:
                await self._tap(thread, user, query.data or "")
        elif message:
            await self._answer(thread, user, message)
        await self._door.updates.close(stored.id)

    def _deed(self, user: User, what: Action, thread: str) -> AbstractAsyncContextManager[None]:
        return deed(self._assistant.services, f"telegram:{user.id}", what, thread, user.full_name)

    async def _tap(self, thread: str, user: User, data: str) -> None:
        person = _person(user)
        try:
            if data == BACK:
                async with self._deed(user, "seat_left", thread):
                    await self._seats.hand_back(thread, person)
            else:
                async with self._deed(user, "seat_taken", thread):
                    seat = await take_seat(self._assistant, thread, person, force=data == FORCE)
                await self._watch(seat)
                await self._post(thread, seat.user, "taken_here", BACK, name=person.name)
        except UsageError:
            await self._refuse(thread)

    async def _watch(self, seat: Seat) -> None:
        """Post what the user says from the take-over on, also if that was long ago: a kill came between."""
        watch = (await self._posts.watched()).get(seat.thread)
        if watch is None or watch.holder != seat.holder_id:
            notice = sentence("seat/phrases", "taken", seat.lang, name=seat.holder)
            lines = await self._assistant.history(seat.thread)
            places = [number for number, line in enumerate(lines, 1) if line.text == notice]
            await self._posts.watch(seat, seat.holder_id, places[-1] if places else len(lines))

    async def _answer(self, thread: str, user: User, message: Message) -> None:
        person = _person(user)
        text = (message.text or message.caption or "").strip()
        command, _, note = text.partition(" ")
        try:
            if command == HAND_BACK:
                async with self._deed(user, "seat_left", thread):
                    await self._seats.hand_back(thread, person, note)
            elif text:
                async with self._deed(user, "seat_said", thread):
                    await self._seats.say(thread, person, text, f"{message.chat.id}-{message.message_id}")
            else:
                await self._post(thread, "", "only_text")
        except UsageError:
            await self._refuse(thread)

    async def _refuse(self, thread: str) -> None:
        """Tell who holds the thread, and let it be taken all the same."""
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
        keyboard = (
            InlineKeyboardMarkup.from_button(InlineKeyboardButton(label, callback_data=button)) if button else None
        )
        send = partial(self._door.sender.bot.send_message, text=text, reply_markup=keyboard)
        number = await self._door.sender.deliver(self._to, send)
        if number is None:
            raise TextRefused
        if user:
            await self._posts.note(number, thread, user)

    def _say(self, key: str, **about: object) -> str:
        return sentence("seat/phrases", f"chat.{key}", self._lang, **about)

    def _may(self, user: User) -> bool:
        return self._people == "*" or user.id in self._people


def _person(user: User) -> Operator:
    return Operator(user.full_name, f"telegram {user.id}")
