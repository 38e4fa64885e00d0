"""What a refusal of Telegram is about, as its own words tell."""

import re
from typing import Literal

from telegram.error import BadRequest, ChatMigrated, Forbidden, TelegramError

from agents.language.text.clean import clean

Subject = Literal["unchanged", "place", "address", "length", "text"]
"""What was refused: nothing, the topic, the whole chat, a text that is too long, or anything else about the message."""
SUBJECTS: tuple[tuple[Subject, str], ...] = (
    ("unchanged", r"not modified"),
    ("text", r"button|keyboard|markup|entit|edit|\b(media|docs?|documents?|photos?|files?)\b"),
    ("length", r"too (long|large|big)"),
    ("place", r"topic|thread"),
    ("address", r"\b(chat|user|peer|channel|rights?|admin|administrator|premium|privacy|blocked|kicked|deactivated)\b"),
)
"""The first of these patterns that the words match; "text" stands for all that is not known."""
LONGEST = 200
"""Characters of a server's words that are logged."""


def subject(refusal: TelegramError) -> Subject:
    """Return what a refusal is about. What is read wrongly as a text's is tried in other forms, and not believed."""
    if isinstance(refusal, Forbidden | ChatMigrated):
        return "address"
    reason_words = refusal.message.lower().replace("_", " ")
    return next((about for about, pattern in SUBJECTS if re.search(pattern, reason_words)), "text")


def reason(failure: BaseException | None) -> str:
    """Return what the server said, for the log; of any other failure its name, for its words may hold addresses."""
    if isinstance(failure, BadRequest | Forbidden | ChatMigrated):
        return " ".join(clean(failure.message).split())[:LONGEST]
    return type(failure).__name__
