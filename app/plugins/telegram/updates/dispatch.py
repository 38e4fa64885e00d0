"""The dispatch of updates: a message or a tap is stored and played, a command is run, and the rest is answered."""

import time
from collections import deque
from dataclasses import replace
from functools import partial

from telegram import CallbackQuery, ChatMember, ChatMemberUpdated, Message, Update, User
from telegram.constants import ChatType

from agents.language.text.vocabulary import is_said
from agents.state.person import FORWARDED
from agents.toolkit.questions import PAGE, leads_to
from app.doors.slash_commands import commands, parse
from app.plugins.telegram.delivery.buttons import OF, Tap
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.messages import anonymous_of, attached_to, is_foreign, key_of_message, quoted_in
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates.commands import run
from app.plugins.telegram.updates.incoming import Incoming
from app.plugins.telegram.updates.operator import OPERATOR_ANSWERS, STATS, Faults, is_operator
from app.plugins.telegram.updates.row import Find, UpdateRow
from app.plugins.telegram.updates.taps import (
    ANEW,
    answer,
    answer_anew,
    settle,
    take_edit,
    take_reaction,
    take_tap,
    was_heard,
)

MOST_ALBUMS = 1000
GROUPS = (ChatType.GROUP, ChatType.SUPERGROUP)
OUT = (ChatMember.LEFT, ChatMember.BANNED)
ENDING = ("new", "retry")
"""The commands that end the running answer, as a new message does: the user no longer waits for it."""
UNDELAYED = ("stop", STATS)
MOST_COMMANDS = 1000
CHANGES_FOR = 24 * 3600.0
"""Seconds in which an edit can turn a message into one for the bot. Telegram also reports edits that nobody made."""


class Dispatch:
    """Carries out updates, and closes them; raises DatabaseError where something cannot be stored."""

    def __init__(self, door: TelegramDoor, faults: Faults) -> None:
        self._door, self._faults = door, faults
        self._incoming = Incoming(door)
        self._albums: deque[str] = deque(maxlen=MOST_ALBUMS)
        self._commands: deque[tuple[str, int]] = deque(maxlen=MOST_COMMANDS)
        """The latest commands, by message: Telegram reports edits that nobody made. The texts are not kept."""

    async def take(self, row: UpdateRow, update: Update, text: str | None) -> None:
        """Queue an update in its chat; `text` is its text for the bot."""
        if query := update.callback_query:
            self._incoming.seal(row.place)
            await self._tap(row, query)
        elif text is not None and (message := update.edited_message):
            await self._change(row, message, text)
        elif text is not None and (message := update.message):
            await self._read(row, message, text)
        elif change := update.my_chat_member:
            await self._enter(row, change)
        elif reaction := update.message_reaction:
            await take_reaction(row, reaction)

    async def _change(self, row: UpdateRow, message: Message, text: str) -> None:
        is_old = time.time() - row.place.sent > CHANGES_FOR
        if not row.place.is_group or is_old or await was_heard(self._door, message):
            before = [hashed for key, hashed in self._commands if key == key_of_message(message)]
            is_changed = before[-1:] not in ([], [hash(text)])
            await take_edit(row, self._incoming, message, text, is_changed_command=is_changed)
            return
        # The edit has made it a message to the bot.
        await self._read(row, message, text)
        heard = await self._door.updates.take(self._door.name, key_of_message(message), "{}")
        await replace(row, stored=heard).close()

    async def _enter(self, row: UpdateRow, change: ChatMemberUpdated) -> None:
        was_out, is_out = (member.status in OUT for member in (change.old_chat_member, change.new_chat_member))
        if change.chat.type not in GROUPS or not was_out or is_out:
            await row.close()
        elif self._door.access.admits(change.from_user.id):
            row.tell("group_hello", name=self._door.sender.bot.username)
        else:
            row.tell("stranger", id=change.from_user.id)

    async def _read(self, row: UpdateRow, message: Message, text: str) -> None:
        place = row.place
        if message.web_app_data:
            await self._incoming.take(row, place.turn(message.web_app_data.data, source=PAGE))
        elif is_foreign(message) or (call := self._call(place, message, text)) is None:
            # Another person's text is no command.
            await self._hear(row, message, text)
        else:
            self._commands.append((key_of_message(message), hash(text)))
            name, argument = call
            address = f"{self._door.sender.bot.link}?start={argument}"
            self._incoming.seal(place)
            if name == "start" and argument and await self._returns_by(place, address):
                await self._incoming.take(row, place.turn(address, source=PAGE))
            else:
                await self._command(row, name, argument)

    def _call(self, place: TelegramPlace, message: Message, text: str) -> tuple[str, str] | None:
        """Return the command of a message. During an answer to its writer, a typed "stop" is one."""
        is_stop = message.text is not None and self._door.chats.is_busy(place.queue) and is_said("halt", text)
        return ("stop", "") if is_stop else parse(text)

    async def _hear(self, row: UpdateRow, message: Message, text: str) -> None:
        is_of_album = self._is_of_album(message)
        if text.strip() or any(map(self._door.files.takes, attached_to(message))):
            source = FORWARDED if is_foreign(message) else "message"
            turn = row.place.turn(text, source=source, quoted=quoted_in(message, self._door.sender.bot.bot))
            await self._incoming.take(row, turn, message.media_group_id)
        elif (message.effective_attachment or message.checklist or message.api_kwargs) and not is_of_album:
            row.tell("only_text")
        else:
            await row.close()

    async def _tap(self, row: UpdateRow, query: CallbackQuery) -> None:
        tap = Tap.read(query.data or "")
        data, _, owner = (query.data or "").partition(OF)
        row = row.at(place := await self._on_behalf(row.place, tap.asked if tap else owner, query.from_user))
        if tap:
            await take_tap(row, query, tap)
        elif owner != place.owner:
            # In a group, anybody can tap.
            remark = say("not_yours", await self._door.lang(place))
            row.do_beside(answer(query, remark))
        elif data == ANEW:
            is_there = await answer_anew(row, self._incoming, query, self._command)
            late = None if is_there else say("too_late", await self._door.lang(place))
            self._door.chats.start(settle(query, late))
        elif call := parse(data):
            self._door.chats.start(settle(query))
            await self._command(row, *call)
        else:
            row.do_beside(settle(query))

    async def _on_behalf(self, place: TelegramPlace, owner: str, user: User) -> TelegramPlace:
        """Return the place of the group's administrators, if the question was theirs and the tapping user is one."""
        is_theirs = place.is_group and owner == anonymous_of(self._door.names, place.chat)
        may_answer = is_theirs and await self._door.administers(place, user.id)
        return replace(place, user=owner) if may_answer else place

    async def _returns_by(self, place: TelegramPlace, link: str) -> bool:
        question = await self._door.assistant.question(place.thread, place.owner)
        return question is not None and leads_to(link, question.back)

    async def _command(self, row: UpdateRow, name: str, argument: str) -> None:
        door, place, command = self._door, row.place, commands().get(name)
        is_over = door.chats.until_now(place.queue)
        find: Find = partial(run, row, name, argument, is_over)
        if name in OPERATOR_ANSWERS and is_operator(door, place) and not (name == STATS and place.is_group):
            find = partial(OPERATOR_ANSWERS[name], door, self._faults, place, argument)
        if name in ENDING:
            self._incoming.make_room(place, is_asked=name == "retry")
        if command and command.begins_turn:
            # Its turn must be stored before the next message.
            await row.begin(find)
        elif command and command.is_at_once and (name in UNDELAYED or place.queue in door.answers):
            # The command must not wait for the turn that it stops or reports on.
            door.attend_at_once(place, partial(row.give, find))
        else:
            row.answer(find)

    def _is_of_album(self, message: Message) -> bool:
        album = message.media_group_id
        if album is None or album in self._albums:
            return album is not None
        self._albums.append(album)
        return False
