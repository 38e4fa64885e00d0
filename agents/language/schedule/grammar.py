"""The words of a language for time (`prompts/<lang>/schedule.toml`), and their pieces in a text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from prompts import language, table

DIGITS = r"\d{1,2}(?!\d)"
ALONE = r"(?<!\w)"
OUTSIDE_A_NUMBER = r"(?<!\d(?=\d))"
FEWEST_MINUTES = 5
"""The least number of minutes behind a time; a smaller one counts something else ("at nine one more thing")."""
WITH_A_CLOCK = ("after", "length", "clock", "past", "to", "into")
"""The kinds of pieces that may be followed by a number of minutes or the name of a time zone."""
LAST_WITH_OTHER_MEANINGS = 10
"""The last number whose word may have another meaning ("that one"), and so stays as it is."""


Values = Mapping[str, Any]
"""The values of a piece of text, by placeholder: a key of a word list, a number, numbers of days, or an `Amount`."""
Pieces = Mapping[str, Values]  # The values of the pieces of a text, by kind of piece.
PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Amount:
    """A length of time. Months and days go by the calendar, seconds by the clock."""

    months: int = 0
    days: int = 0
    seconds: float = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.months + other.months, self.days + other.days, self.seconds + other.seconds)

    def times(self, factor: int) -> "Amount":
        """Return the length `factor` times."""
        return Amount(self.months * factor, self.days * factor, self.seconds * factor)


UNITS = {
    "second": Amount(seconds=1),
    "minute": Amount(seconds=60),
    "hour": Amount(seconds=3600),
    "day": Amount(days=1),
    "week": Amount(days=7),
    "month": Amount(months=1),
    "year": Amount(months=12),
}


class TimeWords:
    """The words of a language for time: their regular expressions and their values."""

    def __init__(self, lang: str) -> None:
        words: dict[str, dict[str, list[str]]] = table("schedule", lang)["words"]
        several = {key: forms for key, forms in words["number"].items() if int(key) >= FEWEST_MINUTES}
        self._words = {**words, "several": several}
        self._spaced = language(lang).spaced
        gap = " " if self._spaced else " ?"
        spelled = f"(?:{self._any('tens')}[ -]{self._any('number')}|{self._any('tens')}|{self._any('number')})"
        nth = f"(?:(?:{self._any('tens')}[ -])?{self._any('nth')}|{DIGITS.replace('(?!', '(?:st|nd|rd|th|-?го)(?!')})"
        joined = f"(?:, ?(?:{self._any('joiner')}{gap})?|{gap}{self._any('joiner')}{gap})"
        half = f"(?:{gap}{self._any('and_half')})?"
        count = rf"(?:\d+(?:[.,]\d+)?|{self._any('count')}|{spelled})"
        self._spelled = re.compile(f"(?:{self._any('tens')}[ -])?{self._any('nth')}|{spelled}")
        self._span = f"(?:{count}{half} ?{self._any('unit')}{half}|{self._any('whole')})"
        self._places = {
            "amount": f"{self._span}(?:(?:{joined}|{gap}){self._span})*",
            "hour": f"(?:{DIGITS}|{spelled})",
            # One digit, or a small number, counts something else ("at five two tickets").
            "minute": rf"(?:[0-5]\d(?!\d)|{spelled.replace(self._any('number'), self._any('several'))})",
            "minutes": f"(?:{DIGITS}|{spelled})",
            "nth": nth,
            # "полдевятого" is one word, so this number may follow letters directly.
            "hour_nth": self._any("hour_nth").removeprefix(ALONE),
            "monthday": f"(?:{nth}|{DIGITS}(?!:))",
            "month_number": r"(?:0?[1-9]|1[0-2])(?!\d)",
            "year": r"(?:19|20)\d\d(?!\d)",
            "weekday_list": self._listed("weekday", joined),
            "weekdays_list": self._listed("weekdays", joined),
        }

    def pattern(self, name: str) -> str:
        """Return the regular expression for a placeholder. Raises ValueError: there is no such placeholder."""
        if name not in self._places and name not in self._words:
            raise ValueError(f"there is no {{{name}}}; there are: {', '.join([*self._places, *self._words])}")
        return self._places.get(name) or self._any(name)

    def value(self, name: str, text: str) -> Any:
        """Return the value of the text at a placeholder. Raises ValueError: it has none."""
        if name == "amount":
            return sum((self._amount(span[0]) for span in re.finditer(self._span, text)), Amount())
        if name in ("weekday_list", "weekdays_list"):
            kind = name.removesuffix("_list")
            names = re.finditer(self._any(kind), text)
            return [int(day) for name in names for day in self._key(kind, name[0])]
        if name == "dayset":
            return [int(day) for day in self._key(name, text)]
        if name in ("unit", "adverb", "half", "part", "parts"):
            return self._key(name, text)
        return self._number(text, "nth" if name in ("nth", "monthday", "hour_nth") else name)

    def number(self, text: str) -> int | None:
        """Return the number if a text is nothing else ("15", "fifteen"); None for any other text."""
        spelled = re.fullmatch(self._places["hour"], text.strip(" ,.;:!?").lower())
        return None if spelled is None else int(self._number(spelled[0], "number"))

    def figured(self, text: str) -> str:
        """Return a text in lower case with its number words above ten as figures: "the 21 one"."""

        def figure(spelled: re.Match[str]) -> str:
            number = int(self._number(spelled[0], "nth"))
            return str(number) if number > LAST_WITH_OTHER_MEANINGS else spelled[0]

        return self._spelled.sub(figure, text)

    def is_of_time(self, text: str) -> bool:
        """Tell whether words behind a time begin with a part of it: a zone, or a number that may be minutes."""
        if re.match(self._any("zone"), text.lower()):
            return True
        text = " ".join(word for word in text.lower().split() if not self.is_filler(word))
        number = re.match(rf"(?:{DIGITS}(?!\w)|{self._places['hour']})", text)
        return number is not None and FEWEST_MINUTES <= int(self._number(number[0], "number")) < 60

    def is_filler(self, word: str) -> bool:
        """Tell whether a word means nothing beside a time."""
        return bool(re.fullmatch(self._any("filler"), word))

    def joins(self, text: str) -> bool:
        """Tell whether words between two pieces make them an enumeration."""
        return bool(re.fullmatch(self._any("joiner"), text.lower()))

    def _amount(self, span: str) -> Amount:
        if amount := self._find("whole", span):
            count, _, unit = amount.partition(" ")
            return _measured(float(count), unit)
        half = self._any("and_half")
        halves = len(re.findall(half, span)) / 2
        match = re.fullmatch(f"(.*?) ?({self._any('unit')})", re.sub(f" ?{half}", "", span))
        assert match is not None  # the span consists of these
        number = float(self._find("count", match[1]) or self._number(match[1], "number"))
        return _measured(number + halves, self._key("unit", match[2]))

    def _number(self, text: str, section: str) -> float:
        if digits := re.match(r"\d+(?:[.,]\d+)?", text):
            number = float(digits[0].replace(",", "."))
            return int(number) if number.is_integer() else number
        if (key := self._find(section, text) or self._find("number", text)) is not None:
            return int(key)
        tens, _, rest = text.replace("-", " ").partition(" ")
        return int(self._key("tens", tens)) + (self._number(rest, section) if rest else 0)

    def _key(self, section: str, text: str) -> str:
        if (key := self._find(section, text)) is None:
            raise ValueError(f"{text!r} is not a {section}")
        return key

    def _find(self, section: str, text: str) -> str | None:
        entries = self._words.get(section, {}).items()
        return next((key for key, forms in entries if forms and re.fullmatch(alternatives(forms), text)), None)

    def _any(self, section: str) -> str:
        forms = sorted((form for forms in self._words[section].values() for form in forms), key=len, reverse=True)
        if not self._spaced:
            return f"(?:{alternatives(forms)})"
        # These words may follow a number without a space: "7pm".
        before = r"(?<![^\W\d])" if section in ("unit", "half") else ALONE
        return rf"{before}(?:{alternatives(forms)})(?!\w)"

    def _listed(self, section: str, joined: str) -> str:
        return f"{self._any(section)}(?:{joined}{self._any(section)})*"


@cache
def words(lang: str) -> TimeWords:
    """Return the words of a language."""
    return TimeWords(lang)


def alternatives(forms: list[str]) -> str:
    """Join regular expressions into one without capturing groups; without expressions it matches nothing."""
    return "|".join(re.sub(r"(?<!\\)\((?!\?)", "(?:", form) for form in forms) or "(?!)"


def _measured(number: float, unit: str) -> Amount:
    months, days = UNITS[unit].months * number, UNITS[unit].days * number
    # A year has the words of a length in Russian and Chinese: "2015 года"; nobody means more than a hundred years.
    if not months.is_integer() or months > 1200:
        raise ValueError(f"{number} {unit} has no length")
    if days.is_integer():
        return Amount(int(months), int(days), UNITS[unit].seconds * number)
    return Amount(seconds=days * 86_400)


@dataclass(frozen=True)
class TimeReading:
    """The pieces of a text about time, and its other words."""

    pieces: Pieces
    rest: str  # The other words, as they were written, without those that mean nothing beside a time.
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Piece:
    kind: str
    start: int
    end: int
    texts: dict[str, str]


def read(text: str, lang: str) -> TimeReading | None:
    """Return the pieces of `text` about time; None without any, if they contradict each other, or a value is wrong."""
    chosen: list[_Piece] = []
    for piece in sorted(pieces_in(text, lang), key=lambda piece: piece.start - piece.end):
        if all(piece.end <= other.start or other.end <= piece.start for other in chosen):
            chosen.append(piece)
    if not chosen or len({piece.kind for piece in chosen}) < len(chosen):
        return None
    lexicon = words(lang)
    try:
        pieces = {
            piece.kind: {name: lexicon.value(name, text) for name, text in piece.texts.items()} for piece in chosen
        }
    except ValueError:
        return None
    chosen.sort(key=lambda piece: piece.start)
    bounds = [0, *(bound for piece in chosen for bound in (piece.start, piece.end)), len(text)]
    gaps = [text[start:end].strip(" ,.;:!?") for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    if any(piece.kind in WITH_A_CLOCK and lexicon.is_of_time(gap) for piece, gap in zip(chosen, gaps[1:], strict=True)):
        # The rest of a time must not become the text.
        return None
    if any(lexicon.joins(gap) for gap in gaps[1:-1]):
        # "On Monday and at nine on Friday" are two times.
        return None
    others = [gap for gap in gaps if not all(lexicon.is_filler(word.lower().strip(",.")) for word in gap.split())]
    return TimeReading(pieces, " ".join(others), tuple((piece.start, piece.end) for piece in chosen))


def only_pieces(text: str, lang: str) -> Pieces:
    """Return the pieces of a text that names a time and nothing else; empty for any other text."""
    reading = read(text, lang)
    return {} if reading is None or reading.rest else reading.pieces


def is_shift(text: str, lang: str) -> bool:
    """Tell whether a text moves a moment by any length of time ("ten minutes later")."""
    return only_pieces(text, lang).keys() == {"shift"}


def pieces_in(text: str, lang: str) -> list[_Piece]:
    """Return all pieces about time in a text, also those that overlap or contradict each other."""
    plain = text.lower().replace("ё", "е").replace("\N{NO-BREAK SPACE}", " ").replace("’", "'")
    if len(plain) != len(text):
        return []
    return [
        _Piece(kind, *match.span(), {name: text for name, text in match.groupdict().items() if text})
        for kind, pattern in _patterns(lang)
        for match in pattern.finditer(plain)
    ]


@cache
def separator(lang: str) -> re.Pattern[str]:
    """Return the pattern between the items of an enumeration: commas, ends of sentences, "and then"."""
    joined = "|".join(re.escape(word) for word in sorted(table("schedule", lang)["joiners"]["of_plans"], key=len)[::-1])
    gap = r"\s+" if language(lang).spaced else r"\s*"
    return re.compile(rf"\s*[,;，；、。\n]+\s*(?:(?:{joined}){gap})?|\.\s+|{gap}(?:{joined}){gap}", re.IGNORECASE)


@cache
def _patterns(lang: str) -> list[tuple[str, re.Pattern[str]]]:
    kinds: dict[str, list[str]] = table("schedule", lang)["patterns"]
    return [(kind, _compiled(pattern, lang)) for kind, patterns in kinds.items() for pattern in patterns]


def _compiled(pattern: str, lang: str) -> re.Pattern[str]:
    parts = PLACE.split(alternatives([pattern]))
    lexicon = words(lang)
    begin, end = (ALONE, r"(?!\w)") if language(lang).spaced else (OUTSIDE_A_NUMBER, OUTSIDE_A_NUMBER)
    try:
        filled = [f"(?P<{part}>{lexicon.pattern(part)})" if place % 2 else part for place, part in enumerate(parts)]
        return re.compile(f"{begin}(?:{''.join(filled)}){end}")
    except (re.error, ValueError) as wrong:
        raise ValueError(f"{pattern!r}: {wrong}") from None
