"""A guard against replies that repeat themselves. Code and tables may do so: there it is mostly on purpose."""

import re

REPEATS = 100
"""How often a text may be repeated in a row; one of more than `LONG` characters less often."""
LONG, SHORT, BLANK = 80, 480, 10
"""Characters of such a long text; of a row that may be a ruler, or laughter; and of white space that counts once."""
STEP, LONGEST = 64, 1000
"""Characters between two checks, which must stand twice; and of the longest text whose repetition is seen."""
PART = 256
"""Characters of a line after which its end is not awaited."""
_ROW = re.compile(r" {4}|\t|.*\||(?:[^,;\t]*[,;\t](?! )){2,}[^,;\t]*\n")
"""A line of an indented block or of a table. In prose there is white space behind a comma."""
_FENCE = re.compile(r"[\s>*-]*(`{3,}|~{3,})[^`]*$")
_CODE = re.compile("`[^`]*`")


class Repetition:
    """Takes the pieces of a text and counts the repetitions in a row at its end; with `most` of 0 it counts none."""

    def __init__(self, most: int = REPEATS) -> None:
        self._most = most
        self._line = self._fence = self._text = ""
        self._is_begun = self._is_skipped = False
        self._period = self._run = self._unseen = self._blank = 0

    def feed(self, piece: str) -> bool:
        """Take a piece; return whether the text repeats itself too often now."""
        if not self._most:
            return False
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            self._take(f"{line}\n")
        if len(self._line) > PART:
            self._take(self._line)
            self._line = ""
        is_often = self._run >= (self._most - 1) * min(self._period, LONG)
        return (self._run >= SHORT and is_often) or self._blank >= self._most * BLANK

    def _take(self, part: str) -> None:
        """Take a line, or the next part of a long one, unless it is code or a table."""
        is_blank = not part.strip()
        self._blank = self._blank + len(part) if is_blank else 0
        if not self._is_begun:
            fence = _FENCE.match(part)
            self._is_skipped = bool(fence or self._fence) or (not is_blank and bool(_ROW.match(part)))
            if fence and fence[1].startswith(self._fence):
                self._fence = "" if self._fence else fence[1]
        self._is_begun = not part.endswith("\n")
        # Code goes beyond this part of a line: the rest of the line may be code.
        self._is_skipped = self._is_skipped or (self._is_begun and part.count("`") % 2 == 1)
        if self._is_skipped:
            self._text, self._period, self._run = "", 0, 0
        else:
            # Code counts as a whole, without its inner repetitions. A verse may come again with more blank lines.
            self._add(re.sub(r"\s+", " ", _CODE.sub(lambda code: f"`{hash(code[0])}`", part)))

    def _add(self, part: str) -> None:
        part = part.lstrip() if self._text.endswith(" ") else part
        size = len(part)
        self._text = (self._text + part)[-2 * LONGEST - size :]
        end, self._unseen = len(self._text), self._unseen + size
        if self._period and part == self._text[end - size - self._period : end - self._period]:
            self._run += size
        elif size:
            self._period = self._run = 0
        if not self._period and self._unseen >= STEP < end:
            self._unseen = 0
            place = self._text.rfind(self._text[end - STEP :], max(0, end - STEP - LONGEST), end - 1)
            self._period, self._run = (end - STEP - place, STEP) if place >= 0 else (0, 0)
