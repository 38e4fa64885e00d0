"""Make texts safe to show: in a terminal, a file, a chat, or as JSON on any of them."""

import json
import re

# A string of the terminal (title, clipboard, link) goes with its payload, as far as its line reaches.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n|\x1b|$))"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks that change the direction of text: they can show it in another order than it has."""
# Tag letters and the like are shown nowhere, and a model reads them. In the flags of England, Scotland and Wales
# they have a place.
UNSEEN = f"{BIDI}\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSEEN = re.compile(f"(\U0001f3f4[\U000e0020-\U000e007e]{{1,8}}\U000e007f)|[{UNSEEN}]")
_BREAKS = re.compile("\r\n|[\u2028\u2029]")
_RAW_IN_JSON = re.compile(f"[\x7f-\x9f{UNSEEN}\u2028\u2029\ud800-\udfff]")


def clean(text: str) -> str:
    """Return a text that is shown as it reads: no escape sequences, no C0 and C1 but for newline and tab, no marks
    of direction, no letters that nobody sees."""
    visible = _UNSEEN.sub(lambda match: match[1] or "", _BREAKS.sub("\n", text))
    return _CONTROLS.sub("", _SEQUENCES.sub("", visible))


def safe_json(data: object, *, indent: int | None = None) -> str:
    """Return data as JSON that is safe to show: what `clean` takes out of a text stands in it as an escape.

    What JSON has nothing for is written as Python prints it.
    """
    text = json.dumps(data, ensure_ascii=False, default=str, indent=indent)
    return _RAW_IN_JSON.sub(lambda sign: json.dumps(sign[0])[1:-1], text)
