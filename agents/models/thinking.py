"""Thinking in a reply's text: taken out while the text streams, so that nobody is shown it, and it is no answer.

Servers without a reasoning parser leave a model's thinking in the text, between tags that differ by model. Some chat
templates open the tag in the prompt; the text then begins inside the thinking and only has the closing tag.
"""

import re
from collections.abc import Iterator, Sequence

TAGS: Sequence[tuple[str, str]] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel>thought", "<channel|>"),
)
"""Opening and closing tags, as models write them: DeepSeek, Qwen, Seed, Magistral, Kimi, Command, gpt-oss, Gemma."""
MARKS = ("<|start|>assistant", "<|channel|>final<|message|>", "<|return|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>")
"""Marks of an answer that stand around it and belong to nothing."""

_OPENING = {opening.casefold(): closing for opening, closing in TAGS}
_CLOSING = re.compile("|".join(re.escape(closing) for _, closing in TAGS), re.IGNORECASE)
_ANY = re.compile(
    "|".join(re.escape(tag) for pair in TAGS for tag in pair) + "|" + "|".join(map(re.escape, MARKS)), re.I
)
_LONGEST = max(len(tag) for tag in (*MARKS, *(tag for pair in TAGS for tag in pair)))


class ThinkingFilter:
    """Takes the pieces of a text and returns what may be shown of it; a tag may be split over pieces.

    `headless`: the text is expected to begin inside the thinking; nothing is shown until it closes.
    """

    def __init__(self, *, headless: bool = False) -> None:
        self._buffer = ""
        self._closing: str | None = "" if headless else None
        """The tag that closes the thinking; empty: any of them; None: the text is the answer."""
        self._has_shown = False
        self.unopened = False
        """Whether a closing tag without an opening one came: all that was shown before it was thinking."""
        self.thought = False
        """Whether there was any thinking."""

    def feed(self, piece: str) -> str:
        """Return what may be shown now that this piece has come."""
        self._buffer += piece
        return self._shown("".join(self._parts(final=False)))

    def rest(self) -> str:
        """Return what was still held back at the end of the text.

        A headless text that never closed its thinking was an answer from the start.
        """
        if self._closing == "" and not self.thought:
            self._closing = None
        return self._shown("".join(self._parts(final=True)))

    @property
    def is_thinking(self) -> bool:
        """Whether the text is inside the thinking."""
        return self._closing is not None

    def _parts(self, *, final: bool) -> Iterator[str]:
        while self._buffer:
            tag = (_CLOSING if self._closing == "" else _ANY).search(self._buffer)
            if tag is None:
                held = 0 if final else _possible_tag(self._buffer)
                if self._closing is None:
                    yield self._buffer[: len(self._buffer) - held]
                elif self._closing == "":
                    held = len(self._buffer)
                if final and self._closing is not None:
                    self._buffer = ""
                self._buffer = self._buffer[len(self._buffer) - held :]
                return
            if self._closing is None:
                yield self._buffer[: tag.start()]
            self._buffer = self._buffer[tag.end() :]
            self._pass(tag[0].casefold())

    def _pass(self, tag: str) -> None:
        """Go into the thinking, or out of it."""
        if self._closing is None and tag in _OPENING:
            self._closing, self.thought = _OPENING[tag].casefold(), True
        elif self._closing is None and _CLOSING.fullmatch(tag):
            self.unopened = self.thought = True
            self._has_shown = False
        elif self._closing is not None and tag in (self._closing, self._closing or tag):
            self._closing, self.thought = None, True

    def _shown(self, text: str) -> str:
        """Drop the white space between the thinking and the answer."""
        if not self._has_shown and self.thought:
            text = text.lstrip()
        self._has_shown = self._has_shown or bool(text)
        return text


def without_thinking(text: str) -> str:
    """Return the answer in a whole text; what stands before a closing tag without an opening one is thinking."""
    reader = ThinkingFilter()
    answer = ""
    for piece in (text, None):
        shown = reader.rest() if piece is None else reader.feed(piece)
        answer += shown
    return _CLOSING.split(text)[-1].strip() if reader.unopened else answer


def _possible_tag(text: str) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    tags = [tag.casefold() for tag in (*MARKS, *(tag for pair in TAGS for tag in pair))]
    end = text[-_LONGEST:].casefold()
    return next(
        (size for size in range(min(len(end), _LONGEST), 0, -1) if any(t.startswith(end[-size:]) for t in tags)), 0
    )
