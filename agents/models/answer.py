"""The answer in a reply's text while it streams: the text for the user, and calls that the text really is.

Servers and weak models leave thinking, marks of the chat template and calls of tools in the text: `forms.toml` is their
table. Only a possible beginning of its marks is held back. Thinking and blocks of a prompt are left out. An answer ends
where a turn ends. A text that is a call is the call; one that only looks like a call makes the reply a broken one.

In code, marks are text. A block of our own prompts is text there only if the user or a tool spoke of it. A mark that
one of them wrote is text everywhere, with `‹` for its first character.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import regex

from agents.errors import GarbledReply
from agents.language.text.clean import whole
from agents.models.text_calls import OFFERS, Offer, TextCall, any_of, forms, value_at

ECHO = 40
"""Characters in a row of our instructions: an answer with so many repeats them."""
BLOCK = ECHO // 2
LONGEST_FORMING = 200
"""Characters at the end of a text that are searched for the beginning of a mark."""
STEP = 2_000
"""Characters of a piece to read at once, so that a long piece costs no more than many short ones."""
LONGEST_LINE = 1_000
"""Characters of a line in which the end of code is awaited."""
MOST_HIDDEN = 1000
"""Characters of a block of our own prompts; a model that goes on after them is not expected to close the block."""
PROSE = re.compile(r"[\w \t.,;:!?'’\"()–-]*")
"""Text in which no mark begins within a line, except names of tools and calls that begin with a word.

Most pieces are such text; to look for each of the marks in them would take a turn a millisecond.
"""
LINE_STARTS = ("", "\n")
LINE, NO_PART = r"(?<![^\n])[ \t]*", r"(?<![\w/.=#-])"
"""Patterns before a form: it begins a line; it is not the end of a longer word, path or address."""


class _Marks:
    """The marks of the table, and the names of tools, which no user should read."""

    def __init__(self, names: Sequence[str]) -> None:
        table = forms()
        pairs = [*table["thinking"], *table["blocks"], *((f"<{tag}>", f"</{tag}>") for tag in table["tags"])]
        self.closing = {opening.casefold(): closing.casefold() for opening, closing in pairs}
        thinking = [pair for pair in pairs if pair not in table["blocks"]]
        self.thinking = frozenset(tag.casefold() for pair in thinking for tag in pair)
        self.ends, self.around = (frozenset(map(str.casefold, table[kind])) for kind in ("ends", "around"))
        marks = [*table["around"], *table["ends"], *(tag for pair in pairs for tag in pair)]
        calls = "|".join([*table["calls"], *(LINE + form for form in table["lines"])])
        keys = "|".join([*(key for kind in ("named", "given", "wrapped") for key in table[kind]), "NAME"])
        kinds = {
            "json": rf"(?:```\w*\s*)?(?:\[\s*)?\{{\s*[\"'](?:{keys})[\"']\s*:|```\w*\s*(?:{calls})",
            "call": calls,
            "mark": f"{any_of(marks)}|{table['special']}",
            "name": rf"{NO_PART}(?:{any_of([name for name in names if '_' in name])})(?!\w)",
        }
        forming = "|".join(kinds.values())
        token = "|".join(f"(?P<{kind}>{form})" for kind, form in (*kinds.items(), ("code", "```|`|\n")))
        token, forming = (form.replace("NAME", f"(?:{any_of(names)})") for form in (token, f"(?:{forming})(?!)"))
        # Only `regex` finds the beginning of a mark; `re` is faster.
        self._token, self._forming = re.compile(token, re.IGNORECASE), regex.compile(forming, regex.IGNORECASE)
        self.end = regex.compile(any_of([*self.ends, *table["results"]]), regex.IGNORECASE)
        words = [
            *(name for name in names if "_" in name),
            *re.findall(r"^\w+", "\n".join(table["calls"]), re.MULTILINE),
        ]
        self._beginnings = {word[:size].casefold() for word in words for size in range(1, len(word) + 1)}
        self.thought = re.compile(any_of([closing for _, closing in thinking]), re.IGNORECASE)

    def token(self, text: str, before: str) -> re.Match[str] | None:
        """Return the first mark of a text, or None; its places are counted from the beginning of `before`."""
        if "_" in text or not PROSE.fullmatch(text):
            return self._token.search(before + text, len(before))
        return self._token.match(before + text, len(before)) if before in LINE_STARTS else None

    def forming(self, text: str, before: str = "") -> int:
        """Return how many characters at the end of a text may become a mark; `before` is the text before it."""
        start = max(len(before), len(before + text) - LONGEST_FORMING)
        if not PROSE.fullmatch(text) or self._ends_in_beginning(text):
            begun = self._forming.search(before + text, start, partial=True)
        elif before in LINE_STARTS and start == len(before):
            begun = self._forming.match(before + text, start, partial=True)
        else:
            begun = None
        return len(before + text) - begun.start() if begun else 0

    def _ends_in_beginning(self, text: str) -> bool:
        """Tell whether the last word of a text may become a name of a tool, or a call that begins with a word."""
        return re.split(r"[^\w-]", text[-LONGEST_FORMING:])[-1].casefold() in self._beginnings


_marks = lru_cache(maxsize=OFFERS)(_Marks)


class AnswerText:
    """Takes the pieces of a text and returns the text for the user; a mark may be split over pieces.

    `headless`: the text is expected to begin inside the thinking; nothing is shown until it closes.
    `instructions` are texts that no answer should repeat.
    """

    def __init__(self, *, headless: bool = False, offer: Offer | None = None, instructions: str = "") -> None:
        self.answer = ""
        """The answer so far; it begins anew behind a closing tag without an opening one."""
        self.unopened = False
        """Whether a closing tag came without an opening one: all text shown before it was thinking."""
        self.thought = self.is_over = self.is_call = False
        """Whether there was thinking; whether the answer is over; whether the text is a call."""
        self.calls: Sequence[TextCall] = ()
        self.offer = offer or Offer((), "")
        """The tools that the model may call."""
        self._marks = _marks(tuple(self.offer.schemas))
        self._instructions = instructions.casefold()
        self._buffer = ""
        self.is_headless = headless
        """Whether the text is inside thinking that it did not open: any closing tag ends it."""
        self._closing: str | None = None
        self._hidden = self._awaited = 0
        self._is_fence = self._is_inline = self._is_cut = False

    @property
    def is_thinking(self) -> bool:
        """Whether the text is inside the thinking, or inside a block that is left out."""
        return self.is_headless or self._closing is not None

    def feed(self, piece: str) -> str:
        """Take a piece; return the text for the user. Raises GarbledReply: an unsound call, or our own instructions."""
        shown, piece = list[str](), whole(piece)
        for start in range(0, len(piece), STEP):
            self._buffer += piece[start : start + STEP]
            shown.append(self._read(is_last=False))
        return "".join(shown)

    def rest(self, *, is_cut: bool = False) -> str:
        """Return the rest of the text, which was held back; half a call of a text that was cut is dropped.

        A headless text that never closed its thinking was an answer from the start.
        """
        self.is_headless, self._is_cut = False, is_cut
        shown = self._read(is_last=True)
        if is_cut:
            self.calls = ()
        elif self.is_call:
            self.calls = self.offer.calls_in(self._marks.end.split(self._buffer)[0]) or self.calls
            if not self.calls:
                raise GarbledReply("a call in its text is not sound")
        return shown

    def _read(self, *, is_last: bool) -> str:
        shown: list[str] = []
        if len(self._buffer) < self._awaited and not is_last:
            return ""
        forming: int | None = None
        while self._buffer and not self.is_call and not self.is_over:
            if self.is_thinking:
                if not self._skip(is_last):
                    break
                forming = None
                continue
            before = self.answer[-1:]
            if forming is None:
                forming = 0 if is_last else self._marks.forming(self._buffer, before)
            ready = len(self._buffer) - forming
            token = self._marks.token(self._buffer, before)
            if token is None or token.start() - len(before) >= ready:
                shown.append(self._show(ready))
                break
            shown.append(self._show(token.start() - len(before)))
            taken = self._take_call(token[0], is_last) if token.lastgroup == "json" else self._take(token, is_last)
            if taken is None:
                break
            shown.append(taken)
            if not taken and token.lastgroup != "code" and len(self._buffer) <= LONGEST_FORMING:
                # Behind a mark that is left out a line may begin.
                forming = None
        self.is_over = self.is_over or bool(self.is_call and self._marks.end.search(self._buffer, -LONGEST_FORMING))
        return "".join(shown)

    def _skip(self, is_last: bool) -> bool:
        """Drop thinking; tell whether it is over."""
        closing = re.compile(re.escape(self._closing), re.IGNORECASE) if self._closing else self._marks.thought
        if tag := closing.search(self._buffer):
            self._buffer = self._buffer[tag.end() :]
            self.thought, self.is_headless, self._closing = self.thought or self.is_headless, False, None
            return True
        if not self.is_headless:
            size = len(self._buffer) - (0 if is_last else self._marks.forming(self._buffer))
            self._buffer, self._hidden = self._buffer[size:], self._hidden + size
            self.is_over = self._hidden > MOST_HIDDEN and self._closing not in self._marks.thinking
        return False

    def _take(self, token: re.Match[str], is_last: bool) -> str | None:
        """Take the token at the buffer's beginning; return its text for the user, None if that shows only later."""
        text, mark = token[0], token[0].casefold()
        if token.lastgroup == "code":
            self._is_fence ^= text == "```"
            self._is_inline = text == "`" and not self._is_fence and not self._is_inline
            return self._show(len(text))
        if token.lastgroup == "name":
            is_text = self._is_fence or self.offer.was_read(text)
            return self._show(len(text), text if is_text else text.replace("_", " "))
        is_code = self._is_code(len(text))
        if is_code is None and not is_last:
            return None
        is_ours = "tool_response" in mark or mark.strip("</>") in {tag.strip("</>") for tag, _ in forms()["blocks"]}
        if is_code and (not is_ours or self.offer.was_read(mark.strip("</>"))):
            return self._show(len(text))
        if mark not in self._marks.thinking and self.offer.was_read(text):
            return self._show(len(text), f"‹{text[1:]}" if text[0] in "<[" else text)
        if token.lastgroup == "call":
            self.is_call = True
            return ""
        self._buffer = self._buffer[len(text) :]
        if mark in self._marks.ends:
            self.is_over = True
        elif mark in self._marks.closing:
            self._closing, self._hidden = self._marks.closing[mark], 0
            self.thought = self.thought or mark in self._marks.thinking
        elif mark in self._marks.closing.values() and mark not in self._marks.around:
            self.unopened = self.unopened or mark in self._marks.thinking
            self.thought = self.thought or self.unopened
            self.answer, self._is_fence, self._is_inline = "", False, False
        return ""

    def _is_code(self, size: int) -> bool | None:
        """Tell whether the first `size` characters of the buffer stand in code; None if that shows only later."""
        if self._is_fence or not self._is_inline:
            return self._is_fence
        line = self._buffer[size : size + LONGEST_LINE]
        end = re.search("[`\n]", line)
        return end[0] == "`" if end else None if len(line) < LONGEST_LINE else False

    def _take_call(self, opening: str, is_last: bool) -> str | None:
        """Take text that begins as a call; return its text for the user, None if that shows only later."""
        is_fenced = opening.startswith("```")
        if self._is_fence:
            self._is_fence = not is_fenced
            return self._show(3 if is_fenced else len(opening))
        end = self._buffer.find("```", 3) + 3 if is_fenced else (value_at(self._buffer) or ("", 0))[1]
        size = end if end > 2 else len(self._buffer)
        if end <= 2 and not is_last:
            # A value that grows piece by piece is not read anew for each of them.
            self._awaited = size + size // 8
            return None
        self._awaited = 0
        text = self._buffer[:size]
        self.calls = self.offer.calls_in(text)
        is_call = self.offer.looks_like_call(text) and not self.offer.was_read(text)
        if self.calls or (is_call and self._is_cut and end <= 2):
            self.is_call = True
            return ""
        if is_call and is_fenced:
            # Code beside words is an answer to read.
            is_call = not self.answer.strip() and not self._buffer[size:].strip()
            if is_call and not is_last:
                return None
        if is_call:
            raise GarbledReply("a call in its text is not sound")
        self._is_fence = is_fenced and end <= 2
        return self._show(size)

    def _show(self, size: int, text: str | None = None) -> str:
        """Take `size` characters from the buffer and add them to the answer, or `text` in their place.

        The answer begins behind the white space.
        """
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        text = taken if text is None else text
        text = text if self.answer else text.lstrip()
        self.answer += text
        if self._instructions and self._has_echo(len(text)):
            raise GarbledReply("it repeats its instructions")
        return text

    def _has_echo(self, size: int) -> bool:
        """Tell whether the last `size` characters of the answer end a part of our instructions."""
        last = len(self.answer)
        first = max(0, last - size + 1 - ECHO)
        # Each echo holds one of these blocks; most answers have none.
        blocks = range(-(-first // BLOCK) * BLOCK, last - BLOCK + 1, BLOCK)
        if not any(self.answer[start : start + BLOCK].casefold() in self._instructions for start in blocks):
            return False
        echoes = range(first, last - ECHO + 1)
        return any(self.answer[start : start + ECHO].casefold() in self._instructions for start in echoes)


def answer_in(text: str, offer: Offer | None = None) -> str:
    """Return the answer in a whole text; the text before a closing tag without an opening one is thinking."""
    reader = AnswerText(offer=offer)
    reader.feed(text)
    reader.rest()
    return reader.answer
