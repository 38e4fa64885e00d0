"""The steps in which a pattern is matched: twice the text may take at most three times as many."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

SEEDS = (
    *("\n", " ", "x", "a ", "\t\n ", "user: ", "user:\n", "human : x\n", "- ", "::", "[", "[::", "1.", "%2f", "-a"),
    *("### Task: ", "### Task: <", "### Task: <chat_history", "provide a concise title ", "please ", "title "),
)
SIZES = (100, 200)
Step = tuple[object, Any]


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """Let the count go as deep as a text is long."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


class Steps:
    """Matches as `re` does, by going back, and counts its steps: those of `re` itself cannot be seen."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._sequence = importlib.import_module("re._parser").parse(pattern.pattern, pattern.flags)
        self._flags, self._text, self.count = pattern.flags, "", 0

    def search(self, text: str) -> int:
        """Return the number of steps of a search through a whole text."""
        self._text, self.count = text, 0
        any(self._match([*self._sequence], start, lambda _: True) for start in range(len(text) + 1))
        return self.count

    def _match(self, sequence: Sequence[Step], place: int, then: Callable[[int], bool]) -> bool:
        self.count += 1
        if not sequence:
            return then(place)
        (operation, argument), rest = sequence[0], sequence[1:]

        def on(end: int) -> bool:
            return self._match(rest, end, then)

        match str(operation):
            case "MAX_REPEAT":
                return self._repeat(argument, 0, place, on)
            case "BRANCH":
                return any(self._match([*branch], place, on) for branch in argument[1])
            case "SUBPATTERN":
                return self._match([*argument[3]], place, on)
            case "AT":
                return self._stands(str(argument), place) and on(place)
        return place < len(self._text) and self._fits(str(operation), argument, self._text[place]) and on(place + 1)

    def _repeat(self, argument: Any, done: int, place: int, on: Callable[[int], bool]) -> bool:
        least, most, inside = argument
        self.count += 1

        def again(end: int) -> bool:
            return end > place and self._repeat(argument, done + 1, end, on)

        if done < most and self._match([*inside], place, again):
            return True
        return bool(done >= least and on(place))

    def _stands(self, where: str, place: int) -> bool:
        before, after = self._text[place - 1 : place], self._text[place : place + 1]
        if where == "AT_BEGINNING":
            return not before or (before == "\n" and bool(self._flags & re.MULTILINE))
        if where == "AT_BEGINNING_STRING":
            return not before
        return not after if where == "AT_END" else bool(re.match(r"\w", before)) != bool(re.match(r"\w", after))

    def _fits(self, operation: str, argument: Any, sign: str) -> bool:
        match operation:
            case "ANY":
                return sign != "\n" or bool(self._flags & re.DOTALL)
            case "LITERAL":
                return sign.lower() == chr(argument).lower()
            case "NOT_LITERAL":
                return sign != chr(argument)
            case "RANGE":
                return bool(argument[0] <= ord(sign) <= argument[1])
            case "CATEGORY":
                kind = {"SPACE": r"\s", "DIGIT": r"\d", "WORD": r"\w"}[str(argument).rpartition("_")[2]]
                return bool(re.match(kind, sign)) != ("NOT" in str(argument))
            case "IN":
                negated = str(argument[0][0]) == "NEGATE"
                return any(self._fits(str(part), value, sign) for part, value in argument[negated:]) != negated
        raise NotImplementedError(operation)


def grows(pattern: re.Pattern[str]) -> list[str]:
    """Return the texts whose double takes more than three times the steps."""
    steps = Steps(pattern)
    texts = [(begin, seed) for begin in ("", "user: ") for seed in SEEDS]
    counts = [[steps.search(begin + (seed * SIZES[1])[:size]) for size in SIZES] for begin, seed in texts]
    return [begin + seed for (begin, seed), (once, twice) in zip(texts, counts, strict=True) if twice > 3 * once]


def hold_against_seeds(patterns: Mapping[str, re.Pattern[str]]) -> None:
    """Assert that the steps of each pattern grow in proportion to the text that it matches."""
    for name, pattern in patterns.items():
        steps = Steps(re.compile(rf"\A(?:{pattern.pattern})", pattern.flags))
        for seed in SEEDS:
            once, twice = (steps.search((seed * SIZES[1])[:size]) for size in SIZES)
            assert twice <= 3 * once, (name, seed)
