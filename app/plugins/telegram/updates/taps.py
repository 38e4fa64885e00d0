"""Users' actions on existing messages: taps on buttons, edits of their own messages, reactions to answers."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from telegram import CallbackQuery, Message, MessageReactionUpdated, ReactionTypeEmoji
from telegram.error import TelegramError

from agents.events import Interrupt
from agents.memory.feedback import ShownTurn
from agents.toolkit.questions import CHOICE
from app.doors.slash_commands import parse
from app.plugins.telegram.delivery.buttons import CANCEL, OF, OTHER, RETRY_COMMAND, Tap, keyboard
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.messages import addressed, is_foreign, key_of_message, place_of, quoted_in
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates.incoming import Incoming
from app.plugins.telegram.updates.operator import BAD
from app.plugins.telegram.updates.row import ReplyWithButtons, UpdateRow

ANEW = "~"
"""The data of the button that lets a changed message be answered again."""
Run = Callable[[UpdateRow, str, str], Awaitable[None]]
"""Runs a command, by its name and argument."""


async def take_tap(row: UpdateRow, query: CallbackQuery, tap: Tap, *, is_late: bool = False) -> None:
    """Store the answer of a tap as a message of the user, once, and play it; a late tap gets a remark.

    Only the asked user can answer. The tap's row is closed with the message, or with the remark.
    Raises DatabaseError if it cannot be stored.
    """
    door, place = row.door, row.place
    lang = await door.lang(place)
    # "Cancel" is a message; otherwise only an offered option is an answer.
    source = "message" if tap.choice == CANCEL else CHOICE
    turn = place.turn(None, id=f"{place.thread}#{tap.mark}", source=source)
    question = await door.assistant.question(place.thread, place.owner)
    if question and question.id != tap.mark:
        question = None
    if tap.asked != turn.owner:
        row.do_beside(answer(query, say("not_yours", lang)))
    elif await door.assistant.message(turn.thread, turn.id):
        row.do_beside(settle(query))
    elif question and (tap.page is not None or tap.choice == OTHER):
        row.do_beside(_turn_page(query, question, tap, place, lang))
    elif question and (text := tap.says(question, lang)):
        await row.receive(replace(turn, text=text))
        door.chats.start(settle(query))
    elif door.chats.is_busy(place.queue) and not is_late:
        # The running turn may ask this question before it ends.
        door.attend(place, partial(take_tap, row, query, tap, is_late=True))
    else:
        row.do_beside(settle(query, say("too_late", lang)))


async def settle(query: CallbackQuery, remark: str | None = None) -> None:
    """Remove the tapped buttons; a refusal by Telegram is ignored."""
    await answer(query, remark)
    # Telegram does not give the content of an old message.
    if isinstance(query.message, Message):
        with suppress(TelegramError):
            await query.edit_message_reply_markup()


async def answer(query: CallbackQuery, remark: str | None = None) -> None:
    """Tell Telegram that the tap has arrived, and show the user a remark, if there is one."""
    with suppress(TelegramError):
        await query.answer(remark)


async def _turn_page(query: CallbackQuery, question: Interrupt, tap: Tap, place: TelegramPlace, lang: str) -> None:
    if tap.page is None:
        await answer(query, say("answer_here" if place.is_group else "in_words", lang))
        return
    await answer(query)
    with suppress(TelegramError):
        await query.edit_message_reply_markup(keyboard(question, tap.asked, lang, tap.page))


async def take_edit(
    row: UpdateRow, incoming: Incoming, message: Message, text: str, *, is_changed_command: bool
) -> None:
    """Take in an edited message; Telegram also reports edits that nobody made, and moves of a live location.

    `is_changed_command`: it was another command before; commands from before the last start are not known.
    """
    door, place = row.door, row.place
    turn = place.turn(text, quoted=quoted_in(message, door.sender.bot.bot))
    entry = await door.assistant.message(turn.thread, turn.id)
    is_command = not is_foreign(message) and parse(text) is not None
    if entry is None and not is_command and await was_heard(door, message):
        # The message has become a part of the one before it.
        entry = await door.assistant.last_message(turn.thread, turn.owner)
    heard = (entry.text or "").split("\n\n") if entry else []
    is_nothing = not (entry or (is_command and is_changed_command)) or not text.strip() or text in heard
    if is_nothing or (not is_command and await incoming.revise(turn)):
        await row.close()
        return

    async def find() -> ReplyWithButtons:
        lang = await door.lang(place)
        button = say("anew", lang), f"{ANEW}{OF}{place.owner}"
        return ReplyWithButtons(say("edited", lang), (button,))

    row.at(replace(place, refers=True)).answer(find)


async def was_heard(door: TelegramDoor, message: Message) -> bool:
    """Tell whether a message has reached the bot before, as far as its rows are kept."""
    return await door.updates.knows(door.name, key_of_message(message))


async def answer_anew(row: UpdateRow, incoming: Incoming, query: CallbackQuery, run: Run) -> bool:
    """Answer the present text of the message that the tapped offer refers to; False if the message is gone.

    `run` runs the message if it is a command.
    """
    door, offer = row.door, query.message
    message = offer.reply_to_message if isinstance(offer, Message) else None
    text = addressed(message, door.sender.bot.bot, door.wake_words) if message else None
    if message is None or not text:
        await row.close()
        return False
    changed = int(message.edit_date.timestamp()) if message.edit_date else 0
    place = place_of(message, query.from_user, door.names)
    quoted = quoted_in(message, door.sender.bot.bot)
    if message.media_group_id and (entry := await door.assistant.message(place.thread, place.turn(text).id)):
        # Telegram gives one part of an album; the answered message has all of them.
        quoted = json.loads(entry.quoted or "[]")
    place = replace(place, edition=f"~{changed}")
    turn = place.turn(text, quoted=quoted)
    if (call := parse(text)) and not is_foreign(message):
        # A second tap does nothing.
        once = await door.updates.take(door.name, f"{key_of_message(message)}{place.edition}", "{}")
        await (run(row.at(place), *call) if once.body else row.close())
        await door.updates.close(once.id)
        return True
    if await door.assistant.message(turn.thread, turn.id):
        # It is a second tap.
        await row.close()
        return True
    return await incoming.take(row.at(place), turn)


async def take_reaction(row: UpdateRow, reaction: MessageReactionUpdated) -> None:
    """Keep a reaction to an answer; offer another answer only to a user who dislikes their own."""
    door, place = row.door, row.place
    turn = await door.assistant.memory.feedback.turn(door.name, place.chat, place.message)
    shown_at = door.names.place(turn.thread) if turn else None
    if turn is None or shown_at is None:
        await row.close()
        return
    # Telegram does not tell the topic of the message.
    place = replace(place.at(turn.thread), topic=shown_at.topic)
    row.at(place).answer(partial(_rate, door, place, reaction, turn))


async def _rate(
    door: TelegramDoor, place: TelegramPlace, reaction: MessageReactionUpdated, turn: ShownTurn
) -> ReplyWithButtons:
    sign = next((kind.emoji for kind in reaction.new_reaction if isinstance(kind, ReactionTypeEmoji)), None)
    before = await door.assistant.memory.feedback.rate(turn, place.owner, sign)
    if sign not in BAD or before in BAD or turn.user != place.owner:
        return ReplyWithButtons("")
    lang = await door.lang(place)
    last = await door.assistant.last_message(turn.thread, turn.user)
    is_last = last is not None and last.message_id == turn.message_id
    if not is_last or door.names.thread(place.chat, place.topic) != turn.thread:
        return ReplyWithButtons(say("disliked_before", lang))
    again = (say("retry", lang), f"{RETRY_COMMAND}{OF}{place.owner}")
    return ReplyWithButtons(say("disliked", lang), (again,))
