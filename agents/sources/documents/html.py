"""HTML of one's own documents as sections: all that is text, headings as they are."""

import re
from html.parser import HTMLParser

from agents.sources.documents import Section
from agents.sources.documents.markdown import BETWEEN

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LEFT_OUT = frozenset({"script", "style", "nav", "footer", "noscript", "template", "svg", "select", "button"})
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|dd|details|div|dl|dt|figcaption|figure|form|header|hr|li|main|ol|p|pre"
    "|section|summary|table|tbody|thead|tr|ul"
)
"""Tags whose text stands apart from what is around it."""
MOST_LINKS = 0.5
"""The part of a section, or of a list, that may stand in links; a list of contents has more."""
LISTS = frozenset({"ul", "ol", "dl"})
CELLS = frozenset({"td", "th"})
_SPACES = re.compile(r"\s+")
# The parser gives up at such a mark if it does not know its word.
_SECTION_MARK = re.compile(r"<!\[[^>]*>?")
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def html_sections(markup: str) -> list[Section]:
    """Return the sections of a page; a page without headings has the title of its head."""
    reader = _Reader()
    reader.feed(_SECTION_MARK.sub("", markup))
    reader.close()
    reader.end_section()
    return reader.sections


class _Reader(HTMLParser):
    """Collects text; a heading ends the section before it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[Section] = []
        self._above: dict[int, str] = {}
        self._heading: list[str] = []
        self._level = 0
        self._text: list[str] = []
        self._title = ""
        self._anchor = self._latest_anchor = ""
        self._skipped = self._linked = 0
        self._lists: list[tuple[int, int]] = []
        self._is_title = self._is_code = self._is_link = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if anchor := values.get("id") or (tag == "a" and values.get("name")):
            self._latest_anchor = anchor
            # The place of a heading stands before it or in it.
            self._anchor = anchor if self._level else self._anchor
        if tag in LEFT_OUT:
            self._skipped += 1
        elif tag in HEADINGS:
            self.end_section()
            self._level, self._heading, self._anchor = HEADINGS[tag], [], self._latest_anchor
        elif tag == "title":
            self._is_title = True
        elif tag == "a":
            self._is_link = True
        elif tag == "br":
            self._text.append("\n")
        elif _BLOCK.fullmatch(tag):
            self._is_code |= tag == "pre"
            if tag in LISTS:
                self._lists.append((len(self._text), self._linked))
            self._text.append("\n\n" if tag != "li" else "\n- ")
        elif tag in CELLS:
            self._text.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in LEFT_OUT:
            self._skipped = max(0, self._skipped - 1)
        elif tag in HEADINGS and self._level:
            title = _SPACES.sub(" ", "".join(self._heading)).strip()
            above = {level: name for level, name in self._above.items() if level < self._level}
            self._above, self._level = {**above, **({self._level: title} if title else {})}, 0
        elif tag == "title":
            self._is_title = False
        elif tag == "a":
            self._is_link = False
        elif _BLOCK.fullmatch(tag):
            self._is_code &= tag != "pre"
            if tag in LISTS and self._lists:
                self._end_list(*self._lists.pop())
            self._text.append("\n\n" if tag != "li" else "\n")

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._is_title:
            self._title += data
        elif self._level:
            self._heading.append(data)
        else:
            self._linked += len(data.strip()) * self._is_link
            self._text.append(data if self._is_code else _SPACES.sub(" ", data))

    def _end_list(self, start: int, linked: int) -> None:
        """Drop a list of links: it leads to texts and is none."""
        letters = sum(len(part.strip()) for part in self._text[start:])
        if self._linked - linked > letters * MOST_LINKS:
            del self._text[start:]
            self._linked = linked

    def end_section(self) -> None:
        """Close the section that is open; one without text is none, and one of links is navigation."""
        text = _BLANK.sub("\n\n", "".join(self._text)).strip()
        if text and self._linked < len(text) * MOST_LINKS:
            title = BETWEEN.join(self._above.values()) or _SPACES.sub(" ", self._title).strip()
            self.sections.append(Section(title, text, self._anchor))
        self._text, self._linked, self._lists = [], 0, []
