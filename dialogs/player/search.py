"""Finds the titles that a user means: by their facts, by the user's words, by the last shown list."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

from langchain_core.messages import ToolMessage

from agents.language.text.vocabulary import Vocabulary, listening, vocabulary
from agents.memory.preferences import zone_of_user
from agents.toolkit import Refused, Runtime
from agents.toolkit.questions.options import chosen
from agents.toolkit.services import Alarms
from dialogs.player.players import MediaPlayer, Title
from dialogs.player.store import MediaStore
from dialogs.player.wording import name_of, said, translated, words_for
from prompts import FALLBACK

AnyKind = Literal["any", "film", "series", "cartoon"]
CARTOON = "animation"
"""The genre of cartoons."""
DAYS = ("today", "yesterday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LISTS = ("search_titles", "list_played", "list_episodes")
"""The tools that show titles with numbers."""
WEEK = 7
"""The number of days that people name by their weekday."""


@dataclass(frozen=True)
class Query:
    """A search for titles; an omitted field allows everything."""

    words: str = ""
    what: AnyKind = "any"
    genre: str = ""
    """The genre in English, or in the user's language."""
    year: int | None = None
    rating_from: float | None = None
    """The least rating, from 0 to 10."""
    liked: bool | None = None
    watched: bool | None = None


def fitting(titles: Iterable[Title], query: Query, lang: str) -> list[Title]:
    """Return the titles that fit, the best rated first."""
    matches = [title for title in titles if _fits(title, query, lang)]
    return sorted(matches, key=lambda title: (-(title.rating or 0), title.name))


def called(titles: Sequence[Title], words: str, lang: str) -> list[Title]:
    """Return the titles that the words name by any fact; a title with exactly that name is the only result."""
    lexicon = vocabulary(listening(words, lang))
    exact = [title for title in titles if lexicon.key(words) in {lexicon.key(name) for name in names_of(title, lang)}]
    if exact:
        return exact
    meant = set(lexicon.stems(words)) - lexicon.stop
    return [title for title in titles if meant and meant <= _stems(title, lang, lexicon)]


def names_of(title: Title, lang: str) -> list[str]:
    """Return all names of a title; in the user's language first."""
    return list(dict.fromkeys([translated("titles", title.name, lang), title.name, *title.other_names]))


def is_cartoon(title: Title) -> bool:
    """Tell whether a title is a cartoon."""
    return CARTOON in title.genres


def _fits(title: Title, query: Query, lang: str) -> bool:
    matches = {"film": title.kind == "film", "series": title.kind == "series", "cartoon": is_cartoon(title)}
    return (
        (query.what == "any" or matches[query.what])
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


async def shown_last(player: MediaPlayer, runtime: Runtime) -> list[Title]:
    """Return the titles of this speaker's last shown list, in its order."""
    numbers = runtime.state["aliases"].by_kind.get("title", {})
    for message in reversed(runtime.state.get("talk", [])):
        if isinstance(message, ToolMessage) and message.name in LISTS and (rows := _rows(message.text)):
            ids = [id for row in rows if (id := numbers.get(str(row.get("title_id"))))]
            titles_by_id = {title.id: title for title in await player.titles()}
            return [titles_by_id.get(id) or await player.title(id) for id in ids]
    return []


async def named_by(words: str, player: MediaPlayer, runtime: Runtime) -> list[Title]:
    """Return the titles that a text names; a number in a list names one title.

    The list is the last shown one, or the playing season if the words speak of an episode ("episode 3").
    """
    lang, shown = runtime.state["lang"], await shown_last(player, runtime)
    if _speaks_of_episode(words, lang) and not any(title.kind == "episode" for title in shown):
        shown = await _season_playing(player) or shown
    if title := _pointed_at(words, shown, lang):
        return [title]
    return called(list(await player.titles()), words, lang)


async def _season_playing(player: MediaPlayer) -> list[Title]:
    title = (await player.now()).title
    if title is None or not title.series:
        return []
    return [episode for episode in await player.episodes(title.series) if episode.season == title.season]


async def in_alarms(player: MediaPlayer, runtime: Runtime) -> list[Title]:
    """Return the films and series named in the user's alarms."""
    lang = runtime.state["lang"]
    alarms = runtime.context.services.find(Alarms)
    texts = await alarms.texts(runtime.context.user) if alarms else []
    lexicons = [(text, vocabulary(listening(text, lang))) for text in texts]
    return [
        title
        for title in await player.titles()
        if any(
            set(lexicon.key(name)) <= set(lexicon.stems(text))
            for text, lexicon in lexicons
            for name in names_of(title, lang)
        )
    ]


async def span_of(day: str, runtime: Runtime) -> tuple[datetime, datetime]:
    """Return the bounds of today or a past day; without a day those of the last week.

    Raises:
        Refused: the text names no day.
    """
    zone = await zone_of_user(runtime.store, runtime.context.user)
    today = datetime.fromtimestamp(runtime.context.service(MediaStore).now(), zone).date()
    word = day.strip().lower()
    if not word:
        first, days = today - timedelta(WEEK - 1), WEEK
    elif word in DAYS:
        back = DAYS.index(word) if word in DAYS[:2] else (today.weekday() - DAYS[2:].index(word) - 1) % WEEK + 1
        first, days = today - timedelta(back), 1
    else:
        try:
            first, days = datetime.strptime(word, "%Y-%m-%d").date(), 1  # noqa: DTZ007  # a day of the user's zone
        except ValueError:
            raise Refused(said("no_day", runtime.state["lang"])) from None
    return datetime.combine(first, time(), zone), datetime.combine(first + timedelta(days), time(), zone)


def next_to_watch(episodes: Sequence[Title]) -> Title | None:
    """Return the next episode to watch: one left in the middle, else the one after the last watched."""
    if begun := next((it for it in episodes if it.position), None):
        return begun
    last = max((place for place, it in enumerate(episodes) if it.watched), default=-1)
    return episodes[last + 1] if last + 1 < len(episodes) else next(iter(episodes), None)


def episode_after(title: Title, episodes: Sequence[Title], *, other_season: bool = False) -> Title | None:
    """Return the next episode, in the same season or the first of a later one; None after the last."""
    place = next((place for place, it in enumerate(episodes) if it.id == title.id), len(episodes))
    later = (it for it in episodes[place + 1 :] if not other_season or it.season != title.season)
    return next(later, None)


def facts_of(title: Title) -> dict[str, float | str]:
    """Return the facts that decide on the best or the newest of several titles."""
    facts = {"rating": title.rating, "date": title.year}
    return {name: value for name, value in facts.items() if value is not None}


def _pointed_at(words: str, shown: Sequence[Title], lang: str) -> Title | None:
    """Return the title of a list for words such as "the second film" or "the best one"."""
    lexicon = vocabulary(listening(words, lang))
    names = [name for kind in ("film", "series", "episode", "cartoon") for name in words_for("kinds", kind, lang)]
    kinds = set(lexicon.stems(" ".join(names)))
    text = " ".join(word for word in words.split() if not set(lexicon.stems(word)) <= kinds) or words
    rows = [{"id": "", "label": name_of(title, lang), "detail": "", "facts": facts_of(title)} for title in shown]
    place = chosen(text, rows, lang) if rows else None
    return None if place is None else shown[place]


def _speaks_of_episode(words: str, lang: str) -> bool:
    lexicon = vocabulary(listening(words, lang))
    return bool(set(lexicon.stems(words_for("kinds", "episode", lang)[0])) & set(lexicon.stems(words)))


def _rows(text: str) -> list[Mapping[str, object]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
