"""Commands of the bot's administrators: its statistics, and the instructions to every speaker of a chat or topic."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from pydantic import ValidationError

from agents.memory.inbox import now_ms
from agents.toolkit.context import Budgets
from app.assistant.system_messages import LONGEST, SystemMessages
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace, chat_of
from app.plugins.telegram.updates.row import ReplyWithButtons
from app.security.audit import deed

WEEK_MS = 7 * 24 * 3600 * 1000
BAD = frozenset("👎💩🤮😡🤬🥱🖕")
GOOD = frozenset("👍❤🔥🎉👏🙏💯🏆🥰😁🤩👌😍⚡")
STATS = "stats"
NOTHING = "off"
"""The argument of `/prompt` that takes the instructions back, in every language."""


class Faults(logging.Handler):
    """Counts the logged errors and warnings; their texts are not kept."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.began = time.monotonic()
        self.errors = self.warnings = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        is_error = record.levelno >= logging.ERROR
        self.errors += is_error
        self.warnings += not is_error


async def statistics(door: TelegramDoor, faults: Faults, place: TelegramPlace, argument: str) -> ReplyWithButtons:
    """Return the bot's statistics."""
    waiting = await door.updates.open(door.name)
    # The oldest update may be this command's own.
    oldest = min((update.received_ms for update in waiting), default=now_ms())
    signs = await door.assistant.memory.feedback.counts(now_ms() - WEEK_MS)
    facts = {
        "hours": round((time.monotonic() - faults.began) / 3600, 1),
        "waiting": len(waiting),
        "lag": round((now_ms() - oldest) / 1000, 1),
        "answers": len(door.answers),
        "queues": door.chats.busy,
        "errors": faults.errors,
        "warnings": faults.warnings,
        "good": sum(count for sign, count in signs.items() if sign in GOOD),
        "bad": sum(count for sign, count in signs.items() if sign in BAD),
    }
    lang = await door.lang(place)
    budgets = door.assistant.services.every(Budgets)
    used = [await each.today(lang, door.assistant.limits) for each in budgets]
    return ReplyWithButtons(" ".join([say(STATS, lang, **facts), *used]))


async def instruct(door: TelegramDoor, faults: Faults, place: TelegramPlace, argument: str) -> ReplyWithButtons:
    """Show, set or take back the instructions to every speaker of this chat or topic, beside its prompts."""
    store, lang = door.assistant.memory.store, await door.lang(place)
    if argument:
        texts = [] if argument.lower() == NOTHING else [{"content": argument}]
        try:
            messages = SystemMessages.model_validate({"system_messages": texts})
        except ValidationError:
            return ReplyWithButtons(say("prompt_too_long", lang, most=LONGEST))
        services = door.assistant.services
        async with deed(services, f"telegram:{chat_of(place.owner)}", "system_messages", place.thread):
            await messages.save(store, place.thread)
    texts_now = (await SystemMessages.of(store, place.thread)).texts
    return ReplyWithButtons(say("prompt" if texts_now else "no_prompt", lang, text="\n\n".join(texts_now)))


OPERATOR_ANSWERS: Mapping[str, Callable[[TelegramDoor, Faults, TelegramPlace, str], Awaitable[ReplyWithButtons]]] = {
    STATS: statistics,
    "prompt": instruct,
}
"""The functions by command; the registry of all doors has these commands only for menus."""


def is_operator(door: TelegramDoor, place: TelegramPlace) -> bool:
    """Tell whether an administrator of the bot wrote here, under their own name."""
    return chat_of(place.owner) in door.access.administrators
