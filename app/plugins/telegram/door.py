"""The door of the Telegram chats: it plays turns in the order of each chat, shows them, and sends notices."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import aclosing, suppress
from functools import partial

from telegram import ChatMember
from telegram.error import InvalidToken, TelegramError

from agents.events.views import Notice
from agents.memory.feedback import ShownTurn
from agents.memory.inbox import SILENCE
from app.assistant import Assistant, Turn
from app.assistant.clocks import Ring, Unreachable
from app.assistant.file_reader import FileReader
from app.doors.visit import stop_when_begun
from app.plugins.telegram.access import Access, Allowed
from app.plugins.telegram.delivery.buttons import command_buttons
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import ChatScreen
from app.plugins.telegram.delivery.sender import Gone, Sender, TextRefused
from app.plugins.telegram.messages import fetch
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace, chat_of, door_of
from app.process.tasks import TaskSet, loop_time

LOG = logging.getLogger(__name__)
MEMBER_PATIENCE = 5.0
"""Seconds for Telegram to name the administrators of a group; later updates wait behind the command meanwhile."""
MEMBER_LASTS = 60.0
"""Seconds until Telegram is asked again about a member who is no administrator."""
Job = Callable[[], Awaitable[None]]


class TelegramDoor:
    """Carries turns to the assistant and its answers to the chats; `lang` serves chats whose language is unknown."""

    def __init__(
        self,
        assistant: Assistant,
        sender: Sender,
        *,
        lang: str,
        allowed: Allowed = frozenset(),
        wake_words: Collection[str] = (),
        files: FileReader | None = None,
    ) -> None:
        self.assistant, self.sender, self.names = assistant, sender, sender.names
        self.name, self.updates, self.default_lang = door_of(self.names.bot), assistant.memory.updates, lang
        self.access = Access(assistant.memory.store, assistant.memory.locks, allowed, sender.bot.token)
        self.wake_words = wake_words
        """The words that call the bot in a group, beside its name."""
        self.files = files or FileReader(assistant, None, 0)
        self.chats = Chats()
        self.answers: dict[int | str, ChatScreen] = {}
        """The running answers, by the queue of their place."""
        self._no_administrators: dict[tuple[int, int], float] = {}
        """Members of groups who are no administrators, with the time until which this counts."""
        self.reached: Callable[[TelegramPlace], None] = lambda place: None
        """Called with the place of each update: the chat can be written to again."""

    @property
    def threads(self) -> str:
        """The threads of the bot's chats, as a GLOB pattern."""
        return f"{self.names.prefix}*"

    async def tell(self, thread: str, text: str) -> bool:
        """Send a text unasked; False if the thread is not of this door, or the chat is out of reach."""
        place = self.names.place(thread)
        return place is not None and await self._reaches(place, text)

    async def _reaches(self, place: TelegramPlace, text: str, *, is_markdown: bool = True) -> bool:
        try:
            return await self.sender.say(place, text, is_markdown=is_markdown)
        except (Gone, TextRefused):
            LOG.warning("chat %s: what was to be said unasked did not reach it", place.chat)
            return False

    async def deliver(self, ring: Ring) -> None:
        """Send a notice, once, and store that it was sent. Raises Unreachable if it did not reach the chat."""
        lines = await self.assistant.memory.transcript.lines(ring.thread, message_id=ring.id)
        text = ring.text
        if name := await self.assistant.name(ring.thread, ring.user):
            text = say("notice_of", self.default_lang, name=name, text=text)
        if (ring.is_stored or not lines) and not await self.tell(ring.thread, text):
            raise Unreachable
        await self.assistant.tell(ring.thread, text, ring.id, ring.user)

    async def deliver_to(self, chat: int, ring: Ring) -> None:
        """Send a notice of another door to a chat. Raises Unreachable if it did not reach the chat."""
        if not await self._reaches(TelegramPlace(chat), ring.text, is_markdown=False):
            raise Unreachable
        await self.assistant.tell(ring.thread, ring.text, ring.id, ring.user)

    def is_held_in_private(self, thread: str) -> bool:
        """Tell whether a thread is the present conversation of a private chat of this door."""
        place = self.names.place(thread)
        return place is not None and not place.is_group and self.names.thread(place.chat, place.topic) == thread

    async def nudge(self, nudge: Ring) -> bool:
        """Store and send the question to a silent user.

        The question is stored first: a process that is killed in between loses it, and no user is asked twice.
        """
        await self.assistant.tell(nudge.thread, nudge.text, nudge.id, nudge.user, source=SILENCE)
        if not await self.tell(nudge.thread, nudge.text):
            await self.assistant.memory.transcript.take_back(nudge.thread, nudge.id)
        return True

    def attend(self, place: TelegramPlace, work: Job) -> None:
        """Queue work for a chat; send an apology if it fails."""
        self.chats.add(place.queue, partial(self._attempt, place, work))

    def attend_at_once(self, place: TelegramPlace, work: Job) -> None:
        """Begin work for a chat beside its queue; send an apology if it fails."""
        self.chats.start(self._attempt(place, work))

    async def administers(self, place: TelegramPlace, user: int | None = None) -> bool:
        """Tell whether a user (None: the writer) administers the group of a place; in a private chat everybody does."""
        if not place.is_group or (user is None and place.is_anonymous):
            # Only administrators can write in the name of their group.
            return True
        chat, asker = self.names.now(place.chat), user or chat_of(place.owner) or 0
        if loop_time() < self._no_administrators.get((chat, asker), 0.0):
            return False
        try:
            async with asyncio.timeout(MEMBER_PATIENCE):
                member = await self.sender.bot.get_chat_member(chat, asker)
        except (TelegramError, TimeoutError) as failure:
            LOG.warning("chat %s: who administers it is not known (%s)", place.chat, type(failure).__name__)
            return False
        is_administrator = member.status in (ChatMember.OWNER, ChatMember.ADMINISTRATOR)
        if not is_administrator:
            still_valid = {who: until for who, until in self._no_administrators.items() if until > loop_time()}
            self._no_administrators = {**still_valid, (chat, asker): loop_time() + MEMBER_LASTS}
        return is_administrator

    async def lang(self, place: TelegramPlace) -> str:
        """Return the language of this door's own sentences in a chat."""
        state = await self.assistant.state(place.thread, place.owner) or {}
        if lang := state.get("lang"):
            return str(lang)
        # At the beginning of a conversation only the user's own language is known.
        preferences = await self.assistant.preferences(place.owner)
        return preferences.lang or place.lang or self.default_lang

    async def remark(self, place: TelegramPlace, key: str, **variables: object) -> None:
        """Send a sentence of `telegram/phrases.toml`. Raises Gone if the chat cannot be written to."""
        text = say(key, await self.lang(place), **variables)
        await self.sender.say(place, text, is_markdown=False)

    async def play(
        self,
        place: TelegramPlace,
        turn: Turn,
        rows: Sequence[int] = (),
        whole: Callable[[], Awaitable[Turn]] | None = None,
    ) -> None:
        """Play a turn to its end and show it, also when the chat is gone before the end; then close its rows.

        The user sees at once that an answer is coming. `whole` waits for the rest of the message and returns the turn.
        Raises Gone if the chat cannot be written to.
        """
        receipts = Receipts(self.assistant.memory.store, turn.thread, turn.id)
        shown = ShownTurn(turn.thread, turn.id, turn.owner)
        receipts.shown = lambda message: self.assistant.memory.feedback.show(self.name, place.chat, message, shown)
        await receipts.read()
        answer = self.answers[place.queue] = ChatScreen(self.sender, receipts, place, turn, partial(self.lang, place))
        try:
            async with answer.live:
                read = await self._read(answer, await whole() if whole else turn)
                gone = await self._show(answer, read) if read else None
                await answer.live.close()
        finally:
            del self.answers[place.queue]
        await self.updates.settle(turn.thread, turn.id)
        # A refused message was not stored, and its updates are not closed with it.
        await self.updates.close(*rows)
        await receipts.clear()
        if gone:
            raise gone

    async def _read(self, answer: ChatScreen, turn: Turn) -> Turn | None:
        """Return a message with the content of its files, and send remarks on useless ones; None if nothing is left."""
        reading = await self.files.read(turn, partial(fetch, self.sender.bot), await answer.lang())
        # A turn is played to its end, also in a closed chat.
        with suppress(Gone):
            for remark in reading.remarks:
                await answer.show(Notice(message=remark))
        is_changed = reading.turn is not None and reading.turn.entry() != turn.entry()
        if reading.turn is None or (is_changed and not await self.assistant.extend(reading.turn)):
            await self.assistant.memory.transcript.withdraw(turn.thread, turn.id)
        return reading.turn

    async def _show(self, answer: ChatScreen, turn: Turn) -> Gone | None:
        gone: Gone | None = None
        async with aclosing(self.assistant.play(turn)) as events:
            async for event in events:
                answer.live.note(event)
                if gone:
                    continue
                try:
                    await answer.show(event)
                except Gone as failure:
                    gone = failure
        return gone

    def stop_draft(self, draft: int) -> None:
        """Stop the answer of this draft; the draft of an earlier answer stops nothing."""
        answer = next((answer for answer in self.answers.values() if answer.live.draft == draft), None)
        if answer:
            self.chats.start(self.stop(answer))

    async def stop(self, answer: ChatScreen, *, after_tools: bool = False) -> None:
        """Stop an answer; with `after_tools` once the running tools have ended."""

        def is_over() -> bool:
            return answer not in self.answers.values()

        turn = answer.turn
        await stop_when_begun(self.assistant, turn.thread, is_over, turn.owner, after_tools=after_tools)

    async def _attempt(self, place: TelegramPlace, work: Job) -> None:
        try:
            await work()
        except (Gone, InvalidToken):
            raise
        except Exception:
            LOG.exception("chat %s: something went wrong", place.chat)
            lang = await self.lang(place)
            buttons = command_buttons(place.owner, lang, "retry")
            await self.sender.say(place, say("sorry", lang), is_markdown=False, keyboard=buttons)


class Chats:
    """A queue of jobs for each chat, and a task for each queue that is not empty."""

    def __init__(self) -> None:
        self._waiting: dict[int | str, deque[Job]] = {}
        self._tasks = TaskSet()
        self._is_open = True

    def add(self, chat: int | str, job: Job) -> None:
        """Queue a job behind those of the same chat."""
        if chat in self._waiting:
            self._waiting[chat].append(job)
        else:
            self._waiting[chat] = deque([job])
            self.start(self._work(chat))

    def start(self, work: Awaitable[None]) -> None:
        """Begin work at once, beside the queues; it ends early if its chat cannot be written to."""

        async def do() -> None:
            with suppress(Gone, InvalidToken):
                await work

        self._tasks.start(do())

    @property
    def busy(self) -> int:
        """The number of chats with running or waiting jobs."""
        return len(self._waiting)

    def is_busy(self, chat: int | str) -> bool:
        """Tell whether a chat has running or waiting jobs."""
        return chat in self._waiting

    def until_now(self, chat: int | str) -> Callable[[], bool]:
        """Return a function that tells whether a chat's present jobs, running and waiting, are over."""
        jobs = self._waiting.get(chat) or [None]
        last = jobs[-1]
        return lambda: last not in self._waiting.get(chat, ())

    async def close(self, patience: float) -> None:
        """Begin no more jobs; give the running ones so many seconds, then cancel them."""
        self._is_open = False
        await self._tasks.close(patience)

    async def _work(self, chat: int | str) -> None:
        waiting = self._waiting[chat]
        try:
            while waiting and self._is_open:
                try:
                    await waiting[0]()
                except Gone:
                    LOG.warning("chat %s cannot be written to any more; what it still waits for is dropped", chat)
                    waiting.clear()
                except InvalidToken:
                    # The service ends; its next start does the waiting jobs.
                    waiting.clear()
                except Exception:
                    LOG.exception("chat %s: something went wrong", chat)
                if waiting:
                    waiting.popleft()
        finally:
            del self._waiting[chat]
