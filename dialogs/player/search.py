"""Titles found by their facts, and by what somebody says of one: its name, kind, genre, year."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.language.text.vocabulary import Vocabulary, listening, vocabulary
from dialogs.player.players import Title
from prompts import FALLBACK, table

What = Literal["film", "series", "cartoon"]
AnyKind = Literal["any", "film", "series", "cartoon"]
CARTOON = "animation"
"""The genre of cartoons."""


@dataclass(frozen=True)
class Query:
    """What is looked for; what is left out does not matter."""

    words: str = ""
    what: What | None = None
    genre: str = ""
    """In English, or in the user's language."""
    year: int | None = None
    rating_from: float | None = None
    """From 0 to 10."""
    liked: bool | None = None
    watched: bool | None = None


def fitting(titles: Iterable[Title], query: Query, lang: str) -> list[Title]:
    """Return the titles that fit, the best rated first."""
    matches = [title for title in titles if _fits(title, query, lang)]
    return sorted(matches, key=lambda title: (-(title.rating or 0), title.name))


def called(titles: Sequence[Title], words: str, lang: str) -> list[Title]:
    """Return the titles that the words name, by any of their facts; one that is called just so counts alone."""
    lexicon = vocabulary(listening(words, lang))
    named = [title for title in titles if lexicon.key(words) in {lexicon.key(name) for name in names_of(title, lang)}]
    if named:
        return named
    meant = set(lexicon.stems(words)) - lexicon.stop
    return [title for title in titles if meant and meant <= _stems(title, lang, lexicon)]


def names_of(title: Title, lang: str) -> list[str]:
    """Return all names of a title; in the user's language first."""
    return list(dict.fromkeys([translated("titles", title.name, lang), title.name, *title.other_names]))


def translated(section: str, word: str, lang: str, otherwise: str | None = None) -> str:
    """Return a title or genre in a language, from `player/words.toml`, or `otherwise` (default: the word itself)."""
    text = table("player/words", lang).get(section, {}).get(word, word if otherwise is None else otherwise)
    return text if isinstance(text, str) else str(text[0])


def words_for(section: str, word: str, lang: str) -> list[str]:
    """Return the words by which people call a kind or a genre; the word as it is without any."""
    text = table("player/words", lang).get(section, {}).get(word, word)
    return [text] if isinstance(text, str) else [str(phrase) for phrase in text]


def what_of(kind: AnyKind) -> What | None:
    """Return the kind that is looked for; None for any."""
    return None if kind == "any" else kind


def is_cartoon(title: Title) -> bool:
    """Tell whether a title is drawn."""
    return CARTOON in title.genres


def _fits(title: Title, query: Query, lang: str) -> bool:
    matches = {"film": title.kind == "film", "series": title.kind == "series", "cartoon": is_cartoon(title)}
    return (
        (query.what is None or matches[query.what])
        and (not query.genre or _has_genre(title, query.genre, lang))
        and query.year in (None, title.year)
        and (query.rating_from is None or (title.rating or 0) >= query.rating_from)
        and query.liked in (None, title.liked)
        and query.watched in (None, title.watched)
        and (not query.words or bool(called([title], query.words, lang)))
    )


def _has_genre(title: Title, genre: str, lang: str) -> bool:
    for language in {lang, FALLBACK}:
        lexicon = vocabulary(language)
        stems = set(lexicon.stems(genre))
        if any(stems <= set(lexicon.stems(" ".join([it, *words_for("genres", it, language)]))) for it in title.genres):
            return bool(stems)
    return False


def _stems(title: Title, lang: str, lexicon: Vocabulary) -> set[str]:
    words = [*names_of(title, lang), title.series_name, str(title.year or "")]
    kinds = [title.kind, *(["cartoon"] if is_cartoon(title) else [])]
    for language in (lang, lexicon.lang):
        words += [phrase for kind in kinds for phrase in words_for("kinds", kind, language)]
        words += [phrase for genre in title.genres for phrase in words_for("genres", genre, language)]
    return set(lexicon.stems(" ".join(words)))
