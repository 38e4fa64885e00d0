"""Documents of one's own: files read as sections, and the full-text index that finds them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A part of a document below one heading; `title` names the headings above it too, outermost first."""

    title: str
    text: str
    anchor: str = ""
    """What follows `#` in an address that leads to it; empty for the beginning."""
