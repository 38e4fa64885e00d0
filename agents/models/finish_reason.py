"""Reasons why a reply ended, in every wire form: `finish_reasons.toml` is the table."""

import logging
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

ReplyEnd = Literal["whole", "cut", "refused", "paused", "failed"]
Form = Mapping[str, Mapping[str, ReplyEnd]]
"""The meanings of words, by their path in a chunk's metadata."""
OTHER = "other"
"""In a form: all other words."""
NO_FORMS = ("kinds", "parts")
ENDED, PRICED = "stream_ended", "stream_priced"
"""Metadata of a chunk: the mark after the last piece has come; the usage has come, which follows all pieces."""
LOG = logging.getLogger(__name__)


def is_known(kind: str) -> bool:
    """Tell whether providers of a kind ("anthropic") always say why a reply ended."""
    return kind in _table()["kinds"]


def reply_end_in(metadata: Mapping[str, Any], kind: str) -> ReplyEnd | None:
    """Return the end of a reply by the metadata of a chunk, in the form of a kind of provider."""
    for path, words in _form(kind).items():
        value: Any = metadata
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value:
            # Some clients give the name of an enum's member behind that of the enum, or of the part that failed.
            word = str(value).lower().rpartition(".")[2].rpartition(": ")[2]
            if word not in words and len(words) > 1:
                ending = _by_parts(word) or words[OTHER]
                log_once(kind, f"{path} is {word[:40]!r}, which is taken for {ending!r}")
                return ending
            return words.get(word, words[OTHER])
    return None


def _by_parts(word: str) -> ReplyEnd | None:
    """Return the meaning of a word that no form names, as far as its parts tell it."""
    parts: Mapping[ReplyEnd, Sequence[str]] = _table()["parts"]
    return next((ending for ending, word_parts in parts.items() if any(part in word for part in word_parts)), None)


@cache
def log_once(kind: str, text: str) -> None:
    """Log a remark on the replies of a kind of provider, once in a process."""
    LOG.warning("%s: %s", kind, text)


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("finish_reasons.toml").read_text("utf-8"))


@cache
def _form(kind: str) -> Form:
    """Return the form of a kind of provider; all forms together for a kind that is not known."""
    table = _table()
    names: Sequence[str] = table["kinds"].get(kind) or [*reversed([name for name in table if name not in NO_FORMS])]
    return {path: _words(words) for name in names for path, words in table[name].items()}


def _words(row: Mapping[Any, Any]) -> Mapping[str, ReplyEnd]:
    named = {word: ending for ending, words in row.items() if ending != OTHER for word in words}
    return {**named, OTHER: row[OTHER]}
