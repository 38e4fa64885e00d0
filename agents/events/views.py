"""Typed views: a tool's output on the screen. Each door renders a view as it can; as plain text every door can.

A view is an event. Its content may come from a remote service: its size is bounded and its links are checked when it
is made.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator

from agents.events import Event
from agents.language.text.clean import clean, whole

LOG = logging.getLogger(__name__)
MOST_ENTRIES = 50
LONGEST_FIELD = 2_000
LONGEST_DOCUMENT = 200_000


class Unshowable(Exception):
    """A view cannot be made of these data."""


class View(Event, type="view"):
    """Data for the screen. Raises Unshowable when a text is too long or a link leads elsewhere than to the web."""

    kind: ClassVar[str] = ""
    longest: ClassVar[int] = LONGEST_FIELD
    omitted = ("unnumbered",)
    title: str = ""
    call: str = Field(default="", exclude=True)
    """The id of the call that returned it."""
    unnumbered: bool = False
    """Whether its lines have no numbers, since another list below it has them."""

    def __init_subclass__(cls, *, kind: str) -> None:
        super().__init_subclass__()
        cls.kind = kind

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, data: object, make: ModelWrapValidatorHandler[Self]) -> Self:
        """Check types, texts and links; LangChain would take an error of pydantic for wrong arguments of the tool."""
        try:
            view = make(data)
        except ValidationError as wrong:
            problems = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in wrong.errors())
            raise Unshowable(f"not a {cls.kind} view: {problems}") from None
        body = view.body()
        if whole(texts := _texts(body)) != texts:
            view = make({name: whole(value) for name, value in body.items() if name in cls.model_fields})
        if any(len(text) > cls.longest for text in texts):
            raise Unshowable(f"a {cls.kind} view has a text of more than {cls.longest} characters")
        if any(not is_web(entry["url"]) for entry in linked(body)):
            raise Unshowable(f"a {cls.kind} view may only link to http and https addresses")
        return view

    def __str__(self) -> str:
        return f"view: {self.kind} {self.title}".rstrip()

    def text(self) -> str:
        """Return the view as plain text, for a door that cannot draw it: its lines under its title."""
        return _under(self.title, self.numbered() or [f"- {line}" for _, line in self.lines()])

    def numbered(self) -> list[str]:
        """Return the lines that a user may refer to by number ("2. red hat"), in the order they are shown."""
        return [] if self.unnumbered else [f"{number}. {line}" for number, line in self.lines()]

    def lines(self) -> list[tuple[int, str]]:
        """Return the lines of a list in words, each with its number."""
        return []

    def body(self) -> dict[str, Any]:
        """Return the shown fields, as plain data."""
        return {**super().body(), "kind": self.kind}


@dataclass(frozen=True)
class Entry:
    """One entry of a card list. `id` is for buttons and never shown; the user sees `number`, or with 0 its place."""

    label: str
    detail: str = ""
    url: str = ""
    id: str = ""
    number: int = 0


class CardList(View, kind="cards"):
    """Things to look at and to refer to by number."""

    entries: Sequence[Entry] = Field(max_length=MOST_ENTRIES)

    def lines(self) -> list[tuple[int, str]]:
        """Return the entries in words, each with its number."""
        parts = [(entry.label, entry.detail, entry.url) for entry in self.entries]
        texts = [" — ".join(" ".join(part.split()) for part in each if part) for each in parts]
        return [(self.entries[place].number or place + 1, text) for place, text in enumerate(texts)]


class Table(View, kind="table"):
    """Rows of cells under named columns; a row can be referred to by number."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]] = Field(max_length=MOST_ENTRIES)

    @model_validator(mode="after")
    def _full(self) -> Self:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("every row of a table needs a cell for each column")
        return self

    def lines(self) -> list[tuple[int, str]]:
        """Return the rows in words, each with its number and each cell with its column's name."""
        rows = [zip(self.columns, row, strict=True) for row in self.rows]
        lines = [", ".join(f"{column}: {' '.join(cell.split())}" for column, cell in row if cell) for row in rows]
        return [*enumerate(lines, 1)]


class Notice(View, kind="notice"):
    """A remark beside the answer, such as an error the user should know of; it never takes the answer's place."""

    message: str
    level: Literal["info", "warning", "error"] = "info"

    def text(self) -> str:
        """Return the remark."""
        return self.message


class Link(View, kind="link"):
    """A page to open."""

    url: str

    def text(self) -> str:
        """Return the address behind its title."""
        return f"{self.title}: {self.url}" if self.title else self.url


class Player(View, kind="player"):
    """The state of a player; `title` is the piece, `position` and `duration` count seconds, `volume` per cent."""

    state: Literal["playing", "paused", "stopped"]
    position: int | None = None
    duration: int | None = None
    volume: int | None = None

    def text(self) -> str:
        """Return one line: a sign for the state, the piece, the times, the volume."""
        sign = {"playing": "▶", "paused": "⏸", "stopped": "⏹"}[self.state]
        times = [f"{moment // 60}:{moment % 60:02}" for moment in (self.position, self.duration) if moment is not None]
        volume = f"🔊 {self.volume} %" if self.volume is not None else ""
        return " ".join(part for part in (sign, self.title, "/".join(times), volume) if part)


@dataclass(frozen=True)
class DayEntry:
    """An entry at a time of day."""

    time: str
    label: str


class Day(View, kind="day"):
    """A day, or several, in the order of time; `notes` are remarks below: overdue, to do, next."""

    entries: Sequence[DayEntry] = ()
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the entries, each behind its time, and the remarks."""
        entries = [f"{entry.time}  {' '.join(entry.label.split())}" for entry in self.entries]
        return _under(self.title, [*entries, *self.notes])


class Document(View, kind="document"):
    """A text to read or keep; `title` is its file name."""

    longest: ClassVar[int] = LONGEST_DOCUMENT
    content: str

    def text(self) -> str:
        """Return the document itself."""
        return self.content


KINDS: Mapping[str, type[View]] = {kind.kind: kind for kind in (CardList, Table, Notice, Link, Player, Day, Document)}


def read_view(body: Mapping[str, object]) -> View:
    """Return the view of plain data that `View.body` has written. Raises ValueError if there is none."""
    kind = KINDS.get(str(body.get("kind")))
    if kind is None:
        raise ValueError(f"there is no view of the kind {body.get('kind')!r}; there are: {', '.join(KINDS)}")
    fields = {name: value for name, value in body.items() if name != "kind"}
    try:
        return kind.model_validate(fields)
    except Unshowable as wrong:
        raise ValueError(str(wrong)) from None


def _under(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines] if title else lines)


def _texts(data: object) -> list[str]:
    if isinstance(data, str):
        return [data]
    inner = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ()
    return [text for value in inner for text in _texts(value)]


def stored_view(body: Mapping[str, object]) -> View | None:
    """Return a stored view; None if its kind or form is no longer known."""
    try:
        return read_view(body)
    except ValueError as unknown:
        LOG.warning("a stored view cannot be shown: %s", str(unknown).partition(":")[0])
        return None


def is_web(url: str) -> bool:
    """Tell whether a link leads to the web, and to the address that people see.

    A name before the host, a host that is encoded, a backslash and letters that nobody sees let one address pass for
    another.
    """
    try:
        parts, text = urlsplit(url), clean(url)
    except ValueError:
        return False
    is_plain = text == url and url.isprintable() and not any(c.isspace() or c in '\\<>"' for c in url)
    is_bare = bool(parts.hostname) and not any(sign in parts.netloc for sign in "@%")
    return parts.scheme in ("http", "https") and is_bare and is_plain


def linked(data: object) -> list[Mapping[str, str]]:
    """Return the objects in plain data that have a `url`, at any depth."""
    if isinstance(data, Mapping):
        own = [data] if data.get("url") else []
        return own + [inner for value in data.values() for inner in linked(value)]
    return [inner for value in data for inner in linked(value)] if isinstance(data, list | tuple) else []
