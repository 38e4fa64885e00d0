"""Answers of MCP servers: their text in whole lines, and the problems of answers that the library cannot read."""

import re
from collections.abc import Callable, Mapping
from encodings import utf_8

from mcp import McpError
from pydantic import ValidationError

from app.plugins.remote_tools.answer import NoAnswer

LARGEST_ANSWER = 10_000_000  # Bytes of an answer over HTTP, or characters of a line.
ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>u[dD][89a-fA-F]\w\w)|.)", re.DOTALL)
LONG, ODD, BROKEN, MISSING = range(-31_004, -31_000)
PROBLEMS: Mapping[int, tuple[str, str]] = {
    LONG: (f"its answer is longer than {LARGEST_ANSWER} bytes", "answer_long"),
    ODD: ("its answer is packed, or neither JSON nor a stream of events", ""),
    BROKEN: ("its answer does not follow the protocol", "answer_lost"),
    MISSING: ("its answer ended too early", "answer_lost"),
}
"""Problems of answers: the reason for the operator, and the phrase for a model. Their numbers are codes of errors."""
End = Callable[[int], None]
"""Takes the problem with which a session ends."""


class UnreadAnswer(NoAnswer):
    """An answer has a problem."""

    def __init__(self, problem: int) -> None:
        reason, remedy = PROBLEMS[problem]
        super().__init__(reason, remedy=remedy)
        self.problem = problem


def cause(error: BaseException) -> str:
    """Return the name of an error, and the status of an answer, without the words of a server."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = BROKEN if isinstance(error, ValidationError) else error.error.code if isinstance(error, McpError) else 0
    if code in PROBLEMS:
        return PROBLEMS[code][0]
    return f"{type(error).__name__} {getattr(getattr(error, 'response', None), 'status_code', '')}".rstrip()


class LineDecoder(utf_8.IncrementalDecoder):
    """Decodes UTF-8 in whole lines; one that is too long ends early."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._parts, self._length = list[str](), 0

    def decode(self, input: bytes, final: bool = False) -> str:  # type: ignore[override]  # nothing else comes
        """Return the lines that end in a piece."""
        text, line_end, begun = super().decode(input, final).rpartition("\n")
        lines = "".join([*self._parts, text, line_end]) if line_end else ""
        self._parts = self._parts if not line_end else []
        self._parts.append(begun)
        self._length = len(begun) + (0 if line_end else self._length)
        if self._length > LARGEST_ANSWER:
            lines, self._parts, self._length = "".join([lines, *self._parts, "\n"]), [], 0
        return with_whole_characters(lines)


def with_whole_characters(text: str) -> str:
    """Return JSON in which no escape stands for half a character: the library reads no such text."""
    return ESCAPE.sub(lambda escape: r"\ufffd" if escape["half"] else escape[0], text) if r"\u" in text else text
