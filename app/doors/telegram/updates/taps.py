"""Taps on buttons: a tap answers its question once, and only from the user who was asked."""

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from telegram import CallbackQuery, Message
from telegram.error import TelegramError

from agents.events import Interrupt
from agents.memory.updates import StoredUpdate
from agents.toolkit.questions import CHOICE, mark
from app.doors.telegram.delivery.buttons import CANCEL, OTHER, Tap, keyboard
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place
from prompts import sentence


async def take(
    door: TelegramDoor, place: Place, query: CallbackQuery, tap: Tap, stored: StoredUpdate, *, is_late: bool = False
) -> None:
    """Store the answer of a tap as a message of the user, once, and play it; a tap that is too late gets a remark.

    The tap's row is closed with the message, or when the remark was made.

    Raises:
        sqlite3.Error: it could not be stored.
    """
    lang = await door.lang(place)
    # That the user wants none of it is a message; only what was offered is an answer.
    source = "message" if tap.choice == CANCEL else CHOICE
    turn = place.turn(None, id=f"{place.thread}#{tap.mark}", source=source)

    async def beside(work: Awaitable[None]) -> None:
        await work
        await door.assistant.memory.updates.close(stored.id)

    if tap.asked != turn.owner:
        door.chats.start(beside(answer(query, sentence("telegram", "not_yours", lang))))
    elif await door.assistant.message(turn.thread, turn.id):
        door.chats.start(beside(settle(query)))
    elif (tap.page is not None or tap.choice == OTHER) and (question := await _question(door, place, tap)):
        door.chats.start(beside(_turn_page(query, question, tap, place, lang)))
    elif text := await _text(door, place, tap, lang):
        turn = replace(turn, text=text)
        await door.receive(place, turn, stored.id)
        door.chats.start(settle(query))
    elif door.chats.is_busy(place.queue) and not is_late:
        # The turn that is being played may ask this question before it ends.
        door.attend(place, partial(take, door, place, query, tap, stored, is_late=True))
    else:
        door.chats.start(beside(settle(query, sentence("telegram", "too_late", lang))))


async def settle(query: CallbackQuery, remark: str | None = None) -> None:
    """Remove the buttons that were tapped; a refusal by Telegram is ignored."""
    await answer(query, remark)
    # Telegram does not give the content of a message that is too old.
    if isinstance(query.message, Message):
        with suppress(TelegramError):
            await query.edit_message_reply_markup()


async def answer(query: CallbackQuery, remark: str | None = None) -> None:
    """Tell Telegram that the tap has arrived, and show the user a remark, if there is one."""
    with suppress(TelegramError):
        await query.answer(remark)


async def _text(door: TelegramDoor, place: Place, tap: Tap, lang: str) -> str | None:
    question = await _question(door, place, tap)
    return tap.says(question, lang) if question else None


async def _question(door: TelegramDoor, place: Place, tap: Tap) -> Interrupt | None:
    question = await door.assistant.question(place.thread, place.owner)
    return question if question and mark(question.id) == tap.mark else None


async def _turn_page(query: CallbackQuery, question: Interrupt, tap: Tap, place: Place, lang: str) -> None:
    """Show another page of options below a question, or say how to answer in words; the question stays."""
    if tap.page is None:
        await answer(query, sentence("telegram", "answer_here" if place.is_group else "in_words", lang))
        return
    await answer(query)
    with suppress(TelegramError):
        await query.edit_message_reply_markup(keyboard(question, tap.asked, lang, tap.page))
