"""The subject of a refusal of Telegram, from its own words."""

import re
from typing import Literal

from telegram.error import BadRequest, ChatMigrated, Forbidden, TelegramError

from agents.language.text.clean import clean

Subject = Literal["unchanged", "place", "address", "length", "text"]
"""The refused part: nothing, the topic, the whole chat, the length of a text, or anything else about the message."""
SUBJECTS: tuple[tuple[Subject, str], ...] = (
    ("unchanged", r"not modified"),
    ("text", r"button|keyboard|markup|entit|edit|\b(media|docs?|documents?|photos?|files?)\b"),
    ("length", r"too (long|large|big)"),
    ("place", r"topic|thread"),
    ("address", r"\b(chat|user|peer|channel|rights?|admin|administrator|premium|privacy|blocked|kicked|deactivated)\b"),
)
"""The pattern of each subject; the first match counts, and "text" stands for unknown words."""
LONGEST = 200
"""The most logged characters of a server's words."""


def subject(refusal: TelegramError) -> Subject:
    """Return the subject of a refusal. A refusal that is wrongly read as "text" only costs tries in other forms."""
    if isinstance(refusal, Forbidden | ChatMigrated):
        return "address"
    reason_words = refusal.message.lower().replace("_", " ")
    return next((about for about, pattern in SUBJECTS if re.search(pattern, reason_words)), "text")


def reason(failure: BaseException | None) -> str:
    """Return the server's words for the log; of any other failure its name, for its words may hold addresses."""
    if isinstance(failure, BadRequest | Forbidden | ChatMigrated):
        return " ".join(clean(failure.message).split())[:LONGEST]
    return type(failure).__name__
