"""What the Bot API allows: requests and answers held against its published description."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tests.support.places import DATA

DESCRIPTION = DATA / "telegram-bot-api" / "api-10.3.json"
UNITS = 4096
ENTITIES = 100
BUTTONS, IN_A_ROW, TOAST = 100, 8, 200
ENTITY_TYPES = {"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "code", "pre", "text_link"} | {
    "expandable_blockquote"
}

Fields = Sequence[Mapping[str, Any]]


def _fields(*fields: tuple[str, str, bool]) -> dict[str, Fields]:
    return {"fields": [{"name": name, "types": types.split("|"), "required": must} for name, types, must in fields]}


KEYBOARD = ("reply_markup", "InlineKeyboardMarkup", False)
# What the bot uses, for machines without the description: less is checked then, but never nothing.
BUILT_IN: dict[str, Any] = {
    "methods": {
        "getMe": _fields(),
        "deleteWebhook": _fields(("drop_pending_updates", "Boolean", False)),
        "getUpdates": _fields(
            ("offset", "Integer", False), ("timeout", "Integer", False), ("allowed_updates", "Array of String", False)
        ),
        "setMyCommands": _fields(("commands", "Array of BotCommand", True), ("language_code", "String", False)),
        "sendChatAction": _fields(("chat_id", "Integer|String", True), ("action", "String", True)),
        "sendMessage": _fields(
            ("chat_id", "Integer|String", True),
            ("text", "String", True),
            ("entities", "Array of MessageEntity", False),
            ("link_preview_options", "LinkPreviewOptions", False),
            KEYBOARD,
        ),
        "sendDocument": _fields(("chat_id", "Integer|String", True), ("document", "InputFile|String", True)),
        "answerCallbackQuery": _fields(("callback_query_id", "String", True), ("text", "String", False)),
        "editMessageReplyMarkup": _fields(
            ("chat_id", "Integer|String", False), ("message_id", "Integer", False), KEYBOARD
        ),
    },
    "types": {
        "BotCommand": _fields(("command", "String", True), ("description", "String", True)),
        "LinkPreviewOptions": _fields(("is_disabled", "Boolean", False)),
        "InlineKeyboardMarkup": _fields(("inline_keyboard", "Array of Array of InlineKeyboardButton", True)),
        "InlineKeyboardButton": _fields(
            ("text", "String", True), ("callback_data", "String", False), ("url", "String", False)
        ),
        "MessageEntity": _fields(
            ("type", "String", True),
            ("offset", "Integer", True),
            ("length", "Integer", True),
            ("url", "String", False),
            ("language", "String", False),
        ),
    },
}


@cache
def described() -> dict[str, Any]:
    """Return methods and types of the Bot API: as published, else the built-in ones."""
    return dict(json.loads(DESCRIPTION.read_text("utf-8"))) if DESCRIPTION.exists() else BUILT_IN


def request_faults(method: str, sent: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the parameters of a call; bytes stand for a file."""
    description = described()["methods"].get(method)
    if description is None:
        return [f"there is no method {method}"]
    faults = _object_faults(method, sent, description.get("fields", []))
    if faults:
        return faults
    if "text" in sent:
        faults += _text_faults(sent["text"], sent.get("entities", []))
    keyboard = sent.get("reply_markup", {}).get("inline_keyboard", [])
    if sum(map(len, keyboard)) > BUTTONS or any(len(row) > IN_A_ROW for row in keyboard):
        faults.append(f"{method}: too many buttons")
    for row in keyboard:
        faults += [fault for button in row for fault in _button_faults(method, button)]
    if not 1 <= len(str(sent.get("text") or "-")) <= (TOAST if method == "answerCallbackQuery" else sys.maxsize):
        faults.append(f"{method}: a text that is too long")
    for command in sent.get("commands", []):
        if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]) or not 1 <= len(command["description"]) <= 256:
            faults.append(f"{method}: command {command}")
    return faults


def _button_faults(method: str, button: Mapping[str, Any]) -> list[str]:
    """Return why Telegram would refuse a button: it sends one thing back or opens one page."""
    data, url = button.get("callback_data"), button.get("url")
    wrong = [] if (data is None) != (url is None) else [f"{method}: a button of {sorted(button)}"]
    if data is not None and not 1 <= len(data.encode()) <= 64:
        wrong.append(f"{method}: callback_data")
    if url is not None and not re.fullmatch(r"(https?|tg)://[^\s]+", url):
        wrong.append(f"{method}: url")
    return wrong + ([] if button["text"].strip() else [f"{method}: an empty button"])


def answer_faults(method: str, result: Any) -> list[str]:
    """Return what is wrong with an answer of this server: it must not be easier than the real one."""
    types = described()["methods"][method].get("returns")
    return value_faults(method, result, types) if types else []


def value_faults(place: str, value: Any, types: Sequence[str]) -> list[str]:
    """Return why a value is of none of these types; nothing when it is of one."""
    alternatives = [_type_faults(place, value, name) for name in types]
    return alternatives[0] if alternatives and all(alternatives) else []


def _type_faults(place: str, value: Any, name: str) -> list[str]:
    plain: dict[str, Any] = {"Integer": int, "Float": (int, float), "String": str, "Boolean": bool, "InputFile": bytes}
    if name.startswith("Array of "):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no array"]
        return [fault for element in value for fault in _type_faults(place, element, name.removeprefix("Array of "))]
    if name in plain:
        wrong = isinstance(value, bool) != (name == "Boolean") or not isinstance(value, plain[name])
        return [f"{place}: {value!r} is no {name}"] if wrong else []
    description = described()["types"].get(name, {})
    if subtypes := description.get("subtypes"):
        return value_faults(place, value, subtypes)
    return _object_faults(f"{place}.{name}", value, description.get("fields", []))


def _object_faults(place: str, value: Any, fields: Fields) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{place}: {value!r} is no object"]
    by_name = {field["name"]: field for field in fields}
    faults = [f"{place}: {name} is unknown" for name in value if name not in by_name]
    faults += [
        f"{place}: {name} is missing" for name, field in by_name.items() if field["required"] and name not in value
    ]
    for name in value.keys() & by_name.keys():
        faults += value_faults(f"{place}.{name}", value[name], by_name[name]["types"])
    return faults


def _text_faults(text: str, entities: Sequence[Mapping[str, Any]]) -> list[str]:
    size = len(text.encode("utf-16-le")) // 2
    faults = [] if text.strip() and size <= UNITS else [f"a text of {size} units"]
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
