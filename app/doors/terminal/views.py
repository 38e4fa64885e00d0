"""Drawings of views and questions for a terminal: every text is cleaned, every link shows its address."""

from collections.abc import Iterable, Sequence

from markdown_it import MarkdownIt
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Markdown
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Column, Table
from rich.text import Text

from agents.events import Interrupt
from agents.events.views import CardList, Document, Entry, Link, Notice, View
from agents.events.views import Table as TableView
from agents.language.text.clean import clean
from agents.state.citations import Citation
from agents.toolkit.questions import hints
from app.presentation.links import in_full
from app.presentation.texts import addresses, marked, numbers, numbers_kept, one_line, references, unmarked

LONGEST_LABEL = 200
"""The most shown characters of an option."""
LEVELS = {"info": ("i", "cyan"), "warning": ("!", "yellow"), "error": ("!", "red")}
UNBOUNDED = 10_000
DASH = "-"
"""The sign in place of a line's number."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


def drawn(view: View) -> list[RenderableType]:
    """Return a view's drawing for a terminal; a view without one is its plain text."""
    match view:
        case CardList(title=title, entries=entries, unnumbered=unnumbered):
            places = [0 if unnumbered else entry.number or place for place, entry in enumerate(entries, 1)]
            return [*_title(title), _numbered(zip(places, map(_card, entries), strict=True))]
        case TableView():
            return [*_title(view.title), Grid(view)]
        case Notice(message=message, level=level):
            sign, colour = LEVELS[level]
            return [Text(f"{sign} {clean(message)}", colour)]
        case Link(title=title, url=url):
            return [*_title(title), _address(url)]
        case Document(title=title, content=content) if title.endswith(".md"):
            return [*_title(title), markdown(content)]
        case Document(title=title, content=content):
            return [*_title(title), Text(clean(content))]
    return [Text(clean(view.text()))]


def asked(question: Interrupt, lang: str) -> list[RenderableType]:
    """Return a question of a tool with its numbered options, its address or its fields."""
    lines = [_option(option["label"], option.get("detail", "")) for option in question.options]
    options = [_numbered(enumerate(lines, 1))] if lines else []
    fields = [Text(f"{one_line(field['label'], LONGEST_LABEL)}:", "cyan") for field in question.fields]
    hint = [Text(clean(line), "dim") for line in hints(question, lang)]
    address = [_address(question.url)] if question.url else []
    return [*_title(question.prompt), *options, *address, *hint, *fields]


def markdown(text: str) -> Markdown:
    """Return a text drawn as Markdown."""
    # In a conversation each line break counts; in Markdown two spaces make one.
    source = numbers_kept(clean(text)).replace("\n", "  \n")
    # A link shows its address, because a link behind other words could lead anywhere.
    drawing = Markdown(source, hyperlinks=False)
    # Rich would leave out apparent HTML ("List<int>") and has no switch for it.
    drawing.parsed = _PARSER.parse(source)
    return drawing


class Cited:
    """A Markdown text whose citations are links of the terminal, where it can; the list below has their addresses."""

    def __init__(self, text: str, citations: Sequence[Citation]) -> None:
        self._drawing, self._addresses = markdown(marked(text, citations)), addresses(citations)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the text or table in the available width."""
        for segment in console.render(self._drawing, options):
            done = 0
            for number, begin, end in numbers(segment.text):
                yield Segment(unmarked(segment.text[done:begin]), segment.style)
                link = Style(color="cyan", link=self._addresses.get(number))
                yield Segment(unmarked(segment.text[begin:end]), (segment.style or Style()) + link)
                done = end
            yield segment if not done else Segment(unmarked(segment.text[done:]), segment.style)


def source_list(citations: Sequence[Citation]) -> list[RenderableType]:
    """Return the sources of a text's citations, each with its number and its address; nothing without citations."""
    lines = []
    for reference in references(citations):
        place = _address(reference.place) if reference.url else Text(reference.place, "dim", overflow="fold")
        gap = " — " if reference.place else ""
        lines.append(Text.assemble((f"[{reference.number}] ", "cyan"), reference.title, gap, place, overflow="fold"))
    return ["", *lines] if lines else []


class Grid:
    """A table view: columns where they fit without a cut word, else its plain text."""

    def __init__(self, view: TableView) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the text or table in the available width."""
        columns = [Column(Text(clean(name)), overflow="fold") for name in self._view.columns]
        table = Table(Column("#", style="cyan", justify="right"), *columns, box=box.SIMPLE_HEAD, padding=(0, 1))
        places = [0 if self._view.unnumbered else number for number, _ in self._view.lines()]
        for number, row in zip(places, self._view.rows, strict=True):
            table.add_row(str(number or DASH), *(Text(clean(cell)) for cell in row))
        needed = Measurement.get(console, options.update(max_width=UNBOUNDED), table).minimum
        lines = [Text(clean(line)) for _, line in self._view.lines()]
        yield table if needed <= options.max_width else _numbered(zip(places, lines, strict=True))


def _title(text: str) -> list[RenderableType]:
    return [Text(clean(text), "bold")] if text else []


def _numbered(lines: Iterable[tuple[int, Text]]) -> Table:
    """Return numbered lines, 0 for none; the rest of a long line continues below its beginning."""
    grid = Table.grid(Column(style="cyan", justify="right"), Column(overflow="fold"), padding=(0, 1))
    for number, line in lines:
        grid.add_row(f"{number}." if number else DASH, line)
    return grid


def _card(entry: Entry) -> Text:
    line = _option(entry.label, entry.detail)
    return line.append_text(Text.assemble("\n", _address(entry.url))) if entry.url else line


def _option(label: str, detail: str) -> Text:
    shown = f" — {one_line(detail, LONGEST_LABEL)}" if detail else ""
    return Text.assemble(one_line(label, LONGEST_LABEL), (shown, "dim"))


def _address(url: str) -> Text:
    # The terminal gets no link: a link can open another address than the shown one.
    return Text(clean(in_full(url)), "underline", overflow="fold")
