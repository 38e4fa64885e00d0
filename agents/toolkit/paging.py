"""Long lists, a page at a time: a view has so many entries, and a user keeps more."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from agents.events.views import MOST_ENTRIES
from agents.toolkit import CardList, Entry, Refused
from prompts import phrase

Page = Annotated[int, Field(ge=1)]


def page_of(entries: Sequence[Entry], page: int, lang: str) -> CardList | None:
    """Return a page of a list, which says where it stands if there are several; None for an empty list.

    Raises:
        Refused: there is no such page.
    """
    if not entries:
        return None
    pages = -(-len(entries) // MOST_ENTRIES)
    if page > pages:
        raise Refused(phrase("page_none", lang, page=page, pages=pages))
    shown = entries[(page - 1) * MOST_ENTRIES : page * MOST_ENTRIES]
    title = phrase("page_of", lang, page=page, pages=pages, count=len(entries)) if pages > 1 else ""
    return CardList(title=title, entries=shown)
