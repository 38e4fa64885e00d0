"""Our own help pages (`prompts/<lang>/help.md`, `prompts/<lang>/<dialog>/help.md`): the section that answers."""

from functools import cache

from agents.language.text.fulltext import Entry, Hit, Index
from agents.language.text.stems import stems
from agents.language.text.vocabulary import small_words
from agents.toolkit.help import HelpRequest
from prompts import prompts_of_all

MOST_HITS = 3


class Pages:
    """Look a question up in the help pages."""

    name = "pages"

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the section that fits best, without its title."""
        return look_up(question.text, question.lang)


def look_up(query: str, lang: str) -> str | None:
    """Return the section of the help pages that fits a query best; None when none does.

    It has to have two of the query's words, or one in its title, and half of all; those in its title count twice.
    """
    index, titles = _index(lang)
    count = len(index.stems_of(query))

    def overlap(hit: Hit) -> int:
        return len(hit.words) + len(hit.words & titles[hit.key])

    best = max(index.search(query, MOST_HITS), key=overlap, default=None)
    # Texts are full of everyday words ("show", "tomorrow", "Berlin"); a title says what its section is about.
    if best is None or overlap(best) < 2:
        return None
    is_titled = bool(best.words & titles[best.key])
    return best.key if 2 * overlap(best) >= count + (0 if is_titled else 1) else None


@cache
def _index(lang: str) -> tuple[Index, dict[str, frozenset[str]]]:
    """Return the index of the sections and the stems of their titles, by text."""
    parts = [page.partition("\n") for page in "\n\n".join(prompts_of_all("help", lang)).split("\n## ")[1:]]
    sections = [Entry(text.strip(), title, text) for title, _, text in parts]
    titles = {entry.key: frozenset(stems(entry.title, lang)) for entry in sections}
    return Index(sections, lang, ignored=small_words(lang)), titles
