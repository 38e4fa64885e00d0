"""The content of a server's refusal of a request, in any form and language."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

SENTENCES = re.compile("message|msg|details?|errors?|(?:error_)?description|title|raw", re.IGNORECASE)
"""Keys of sentences, even of a single word. Any other text of several words is a sentence, too."""
CODES = ("code", "type", "status")
PLACES = ("loc", "path")
"""Keys of a list: the place of the fault that the sentence beside it is about."""
ECHOES = ("input", "ctx", "url", "failed_generation")
"""Keys under which servers repeat the request, or say nothing about it."""
REQUIRED = ({"model", "messages"}, {"model", "input"})
"""Keys of every request. A list or an object with these is a request, or lists the keys that a request may have."""
DEEPEST, MOST, LONGEST, LARGEST = 8, 200, 20_000, 10**9
"""Limits of an answer: its levels and values, the characters of a text, and the largest number."""
BODIES = ("body", "details", "response_json", "error")
"""The attributes in which clients keep an answer that they have read."""
_MARKUP = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SEVERAL_WORDS = re.compile(r"\S\s+\S|[^\W\da-zA-Z_]{2}")
"""White space between words, or letters of a script that may write without any."""


@dataclass
class Refusal:
    """The parts of an answer that have a meaning: words, codes, names of fields, numbers."""

    sentences: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    """Texts of one word: the name of a refused field may stand at any place."""
    keys: list[str] = field(default_factory=list)
    """Names with a text below them: some servers write the fault below the field's name."""
    counts: dict[str, int] = field(default_factory=dict)
    _left: int = MOST

    @property
    def words(self) -> str:
        """All its words and codes."""
        return "\n".join([*self.sentences, *self.codes])

    def take(self, value: object, key: str = "message", depth: int = DEEPEST) -> None:
        """Add the content of an answer, or of a part of it under its key."""
        self._left -= 1
        if depth < 0 or self._left < 0 or key in ECHOES or _is_request(value):
            return
        if isinstance(value, Mapping):
            for name, part in _with_place(value).items():
                self.keys += [str(name)] if isinstance(part, str | list) and not SENTENCES.fullmatch(str(name)) else []
                self.take(part, str(name), depth - 1)
        elif isinstance(value, list | tuple):
            for part in value:
                self.take(part, key, depth - 1)
        elif isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST:
            self.counts.setdefault(key, value)
        elif isinstance(value, str):
            self._take_text(value[:LONGEST], key, depth)

    def _take_text(self, text: str, key: str, depth: int) -> None:
        if key in CODES:
            self.codes.append(text)
        elif not SENTENCES.fullmatch(key) and not _SEVERAL_WORDS.search(text):
            self.fields.append(text)
        else:
            inner = _json_in(text)
            if inner is None or not text.lstrip().startswith(("{", "[")):
                words = " ".join((_MARKUP.sub(" ", text) if text.lstrip().startswith("<") else text).split())
                self.sentences += [words] if words and words not in self.sentences else []
            if inner is not None:
                self.take(inner, key, depth - 1)


def _is_request(value: object) -> bool:
    parts = {part for part in value if isinstance(part, str)} if isinstance(value, Mapping | list) else set[str]()
    return any(required <= parts for required in REQUIRED)


def _with_place(fault: Mapping[str, object]) -> Mapping[str, object]:
    """Return a fault with its place at the beginning of its sentence."""
    places = [place for name in PLACES if isinstance(place := fault.get(name), list) and place]
    name = next((name for name in ("msg", "message") if isinstance(fault.get(name), str)), "")
    if not places or not name:
        return fault
    return {**fault, name: f"{'.'.join(str(part) for part in places[0] if part != 'body')}: {fault[name]}"}


def sentences_in(answer: object) -> list[str]:
    """Return the sentences of an answer."""
    refusal = Refusal()
    refusal.take(answer)
    return refusal.sentences


def refusal_of(failure: BaseException) -> Refusal:
    """Return the content of a server's answer; without an answer, that of its client's error."""
    refusal = Refusal()
    for answer in _answers(failure):
        refusal.take(answer)
        if refusal.sentences:
            return refusal
    refusal.take(str(failure))
    return refusal


def _answers(failure: BaseException) -> Iterator[object]:
    for carrier in filter(None, (failure, failure.__cause__)):
        for name in ("response", "raw_response"):
            # The clients raise errors of their own for an answer that nobody has read.
            with suppress(Exception):
                text = getattr(carrier, name).text
                yield text if isinstance(text, str) else None
        yield from (getattr(carrier, name, None) for name in BODIES)


def _json_in(text: str) -> object | None:
    """Return the JSON object or list at the end of a text."""
    start = min((place for place in map(text.find, "{[") if place >= 0), default=-1)
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    return None
