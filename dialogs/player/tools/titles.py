"""Which titles are meant: those that were shown last, and those that words tell of."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta

from langchain_core.messages import ToolMessage

from agents.language.text.vocabulary import listening, vocabulary
from agents.memory.preferences import zone_of_user
from agents.toolkit import Refused, Runtime
from agents.toolkit.questions.options import chosen
from agents.toolkit.services import Alarms
from dialogs.player.phrases import said
from dialogs.player.players import Player, Title
from dialogs.player.search import called, names_of, words_for
from dialogs.player.store import MediaStore
from dialogs.player.tools.wording import name_of

DAYS = ("today", "yesterday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LISTS = ("search_titles", "list_played", "list_episodes")
"""The tools that show titles with numbers."""
WEEK = 7
"""Days that people call by their names alone."""


async def shown_last(player: Player, runtime: Runtime) -> list[Title]:
    """Return the titles of the list that this speaker has shown last, in its order."""
    numbers = runtime.state["aliases"].by_kind.get("title", {})
    for message in reversed(runtime.state.get("talk", [])):
        if isinstance(message, ToolMessage) and message.name in LISTS and (rows := _rows(message.text)):
            ids = [id for row in rows if (id := numbers.get(str(row.get("title_id"))))]
            titles_by_id = {title.id: title for title in await player.titles()}
            return [titles_by_id.get(id) or await player.title(id) for id in ids]
    return []


async def named_by(words: str, player: Player, runtime: Runtime) -> list[Title]:
    """Return the titles that somebody's words name; with the number in a list only that one.

    The list is the one shown last, or the season that plays if the words speak of an episode ("episode 3").
    """
    lang, shown = runtime.state["lang"], await shown_last(player, runtime)
    if _names_kind(words, "episode", lang) and not any(title.kind == "episode" for title in shown):
        shown = await _season_playing(player) or shown
    if title := _pointed_at(words, shown, lang):
        return [title]
    return called(list(await player.titles()), words, lang)


async def _season_playing(player: Player) -> list[Title]:
    """Return the episodes of the season that plays."""
    title = (await player.now()).title
    if title is None or not title.series:
        return []
    return [episode for episode in await player.episodes(title.series) if episode.season == title.season]


async def in_alarms(player: Player, runtime: Runtime) -> list[Title]:
    """Return the films and series that the user's alarms name."""
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
    """Return the bounds of a day that is over, or of today; without a day those of the last week.

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
    """Return the episode to go on with: the one that was left in the middle, else the one after the last watched."""
    if begun := next((it for it in episodes if it.position), None):
        return begun
    last = max((place for place, it in enumerate(episodes) if it.watched), default=-1)
    return episodes[last + 1] if last + 1 < len(episodes) else next(iter(episodes), None)


def episode_after(title: Title, episodes: Sequence[Title], *, other_season: bool = False) -> Title | None:
    """Return the episode after one, or the first one of another season after it; None if there is none."""
    place = next((place for place, it in enumerate(episodes) if it.id == title.id), len(episodes))
    later = (it for it in episodes[place + 1 :] if not other_season or it.season != title.season)
    return next(later, None)


def _pointed_at(words: str, shown: Sequence[Title], lang: str) -> Title | None:
    """Return the title of a list that "the second film" or "the best one" means."""
    lexicon = vocabulary(listening(words, lang))
    kinds = {stem for kind in ("film", "series", "episode", "cartoon") for stem in lexicon.stems(_kind(kind, lang))}
    text = " ".join(word for word in words.split() if not set(lexicon.stems(word)) <= kinds) or words
    rows: list[Mapping[str, object]] = [
        {
            "id": "",
            "label": name_of(title, lang),
            "detail": "",
            "facts": {
                **({"rating": title.rating} if title.rating is not None else {}),
                **({"date": title.year} if title.year else {}),
            },
        }
        for title in shown
    ]
    place = chosen(text, rows, lang) if rows else None
    return None if place is None else shown[place]


def _names_kind(words: str, kind: str, lang: str) -> bool:
    lexicon = vocabulary(listening(words, lang))
    first = words_for("kinds", kind, lang)[0]
    return bool(set(lexicon.stems(first)) & set(lexicon.stems(words)))


def _kind(kind: str, lang: str) -> str:
    return " ".join(words_for("kinds", kind, lang))


def _rows(text: str) -> list[Mapping[str, object]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
