"""Make texts safe to show: in a terminal, a file, a chat, or as JSON on any of them."""

import json
import re
from collections.abc import Mapping
from typing import Any

# A string of the terminal (title, clipboard, link) goes together with its payload, up to the end of its line.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n|\x1b|$))"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Unicode's default ignorable letters (DerivedCoreProperties), which include marks of direction, and the marks of
# annotations. Nobody sees these letters, but a model reads them.
UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_EMOJI = "\xa9\xae\u203c-\u27bf\u2934-\u2b55\u3030-\u3299\U0001f000-\U0001faff"
_JOINED = "\u0600-\u109f\u1780-\u18af\u1b00-\u1c4f\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefc"
"""Scripts from Arabic to Mongolian, where a joiner or a non-joiner changes the writing of two letters."""
# Flags of regions, one joiner between two letters or two emoji, how an emoji or a Mongolian letter is drawn.
_HONEST = (
    "\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f"
    f"|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
)
_UNSEEN = re.compile(f"({_HONEST})|[{UNSEEN}]")
_BREAKS = re.compile("\r\n|[\u2028\u2029]")
_HALVES = re.compile("[\ud800-\udfff]")
_RAW_IN_JSON = re.compile(f"[\x7f-\x9f{UNSEEN}\u2028\u2029\ud800-\udfff]")
DEEPEST = 40
"""The most levels of foreign data: nobody means more, and no walk through fewer ends in a RecursionError."""


def clean(text: str) -> str:
    """Return a text without escape sequences, C0 and C1 except newline and tab, marks of direction, and letters that
    nobody sees."""
    visible = _UNSEEN.sub(lambda match: match[1] or "", _BREAKS.sub("\n", text))
    return _CONTROLS.sub("", _SEQUENCES.sub("", visible))


def whole(data: Any) -> Any:
    """Return plain data with texts that any file and database takes: NUL is dropped, half a character is U+FFFD."""
    if isinstance(data, str):
        return _HALVES.sub("\ufffd", data.replace("\0", ""))
    if isinstance(data, Mapping):
        return {whole(name): whole(value) for name, value in data.items()}
    return [*map(whole, data)] if isinstance(data, list | tuple) else data


def is_shallow(data: object, left: int = DEEPEST) -> bool:
    """Tell whether data has no more than so many levels."""
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    return left > 0 and all(is_shallow(value, left - 1) for value in inner)


def safe_json(data: object, *, indent: int | None = None) -> str:
    """Return data as JSON that is safe to show: characters that `clean` removes become escapes.

    A value that JSON does not know is written as Python prints it.
    """
    text = json.dumps(data, ensure_ascii=False, default=str, indent=indent)
    return _RAW_IN_JSON.sub(lambda sign: json.dumps(sign[0])[1:-1], text)
