"""The Bot API's limits beyond its description: on texts, entities and buttons."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.telegram_schema import parameter_faults

UNITS, CAPTION_UNITS = 4096, 1024
ENTITIES = 100
BUTTONS, IN_A_ROW, TOAST = 100, 8, 200
ENTITY_TYPES = {"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "code", "pre", "text_link"} | {
    "expandable_blockquote",
    "text_mention",
}


def request_faults(method: str, sent: Mapping[str, Any]) -> list[str]:
    """Return the faults of a call's parameters; bytes stand for a file."""
    if faults := parameter_faults(method, sent):
        return faults
    if method == "answerCallbackQuery":
        return [f"{method}: a text that is too long"] if units(sent.get("text", "")) > TOAST else []
    if method == "sendMessageDraft":
        faults += [] if sent["draft_id"] and sent["chat_id"] > 0 else [f"{method}: to {sent['chat_id']}"]
    if "text" in sent and (sent["text"] or method != "sendMessageDraft"):
        # A draft without a text shows that the bot is thinking.
        faults += _text_faults(sent["text"], sent.get("entities", []), UNITS)
    for captioned in (sent, *sent.get("media", [])):
        if "caption" in captioned:
            faults += _text_faults(captioned["caption"], captioned.get("caption_entities", []), CAPTION_UNITS)
    keyboard = sent.get("reply_markup", {}).get("inline_keyboard", [])
    if sum(map(len, keyboard)) > BUTTONS or any(len(row) > IN_A_ROW for row in keyboard):
        faults.append(f"{method}: too many buttons")
    faults += [fault for row in keyboard for button in row for fault in _button_faults(method, button)]
    for command in sent.get("commands", []):
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]) or not 1 <= len(command["description"]) <= 256:
            faults.append(f"{method}: command {command}")
    return faults


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


def _button_faults(method: str, button: Mapping[str, Any]) -> list[str]:
    """Return the reasons to refuse a button: it must send one thing back or open one page."""
    data, url = button.get("callback_data"), button.get("url")
    wrong = [] if (data is None) != (url is None) else [f"{method}: a button of {sorted(button)}"]
    if data is not None and not 1 <= len(data.encode()) <= 64:
        wrong.append(f"{method}: callback_data")
    if url is not None and not re.fullmatch(r"(https?|tg)://[^\s]+", url):
        wrong.append(f"{method}: url")
    return wrong + ([] if button["text"].strip() else [f"{method}: an empty button"])


def _text_faults(text: str, entities: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    size = units(text)
    faults = [] if text.strip() and size <= most else [f"a text of {size} units"]
    faults += [f"{len(entities)} entities"] if len(entities) > ENTITIES else []
    spans = [(entity["offset"], entity["offset"] + entity["length"]) for entity in entities]
    for entity, (begin, end) in zip(entities, spans, strict=True):
        if not 0 <= begin < end <= size or entity["type"] not in ENTITY_TYPES:
            faults.append(f"entity {entity}")
        if any(begin < other < end < last for other, last in spans):
            faults.append(f"entity {entity} crosses another")
        if (entity["type"] == "text_link") != ("url" in entity):
            faults.append(f"entity {entity}: url")
    return faults
