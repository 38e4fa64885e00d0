"""Titles and playbacks for the model and for the user, with texts from `prompts/<lang>/player/`."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from agents.events.views import CardList, Entry
from agents.events.views import Player as PlayerView
from agents.language.identifiers import MARK, Opaque
from dialogs.player.players import Playback, Title
from prompts import sentence, table

said = partial(sentence, "player/phrases")
"""Return the sentence `key` in a language, its `$variables` filled in."""


Row = Mapping[str, object]
Schema = dict[str, Any]
TitleId = Annotated[str, Opaque("title")]
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
TITLE_ID = {"type": "string", MARK: "title"}
ROW = {"title_id": TITLE_ID, "name": TEXT, "kind": TEXT, "year": NUMBER, "rating": NUMBER}


def translated(section: str, word: str, lang: str, otherwise: str | None = None) -> str:
    """Return a title or genre in a language, from `player/words.toml`, or `otherwise` (default: the word itself)."""
    return words_for(section, word, lang, otherwise)[0]


def words_for(section: str, word: str, lang: str, otherwise: str | None = None) -> list[str]:
    """Return people's words for a kind or a genre, or `otherwise` (default: the word itself)."""
    text = table("player/words", lang).get(section, {}).get(word, word if otherwise is None else otherwise)
    return [text] if isinstance(text, str) else [str(phrase) for phrase in text]


def name_of(title: Title, lang: str) -> str:
    """Return the name of a title in a language."""
    return translated("titles", title.name, lang)


def plot_of(title: Title, lang: str) -> str:
    """Return the plot of a title; that of a title of the catalogue in the user's language."""
    return title.plot or translated("plots", title.name, lang, otherwise="")


def title_line(title: Title, lang: str) -> str:
    """Return the full name of a title: with its year, an episode with its series and number."""
    if title.kind == "episode":
        facts = {"series": translated("titles", title.series_name, lang), "name": name_of(title, lang)}
        return said("episode", lang, season=title.season, episode=title.episode, **facts)
    return f"{name_of(title, lang)} ({title.year})" if title.year else name_of(title, lang)


def title_entry(title: Title, lang: str, *, alone: bool = False) -> Entry:
    """Return a title as an entry of a list: rating, length and age; `alone` leaves out the user's own marks."""
    genres = ", ".join(translated("genres", genre, lang) for genre in title.genres)
    parts = [
        genres,
        f"★ {title.rating:g}" if title.rating is not None else "",
        said("minutes", lang, minutes=-(-title.duration // 60)) if title.duration else "",
        said("from_age", lang, age=title.age) if title.age else "",
    ]
    if not alone:
        parts += [
            said("watched", lang) if title.watched else "",
            said("left_at", lang, at=clock(title.position)) if title.position else "",
            "♥" if title.liked else "",
        ]
    return Entry(title_line(title, lang), " · ".join(part for part in parts if part), id=title.id)


def title_card(title: Title, lang: str, forbidden: str, *, alone: bool = False) -> CardList:
    """Return all facts of a title; `forbidden` is the reason why the viewer may not see it."""
    lines = [title_entry(title, lang, alone=alone).detail, plot_of(title, lang)[:1_900], forbidden]
    return CardList(title=title_line(title, lang), entries=[Entry(line) for line in lines if line])


def title_row(title: Title, lang: str) -> Row:
    """Return a title for the model, in a list."""
    row = {
        "title_id": title.id,
        "name": title_line(title, lang) if title.kind == "episode" else name_of(title, lang),
        "kind": title.kind,
        "year": title.year,
        "rating": title.rating,
    }
    return {name: value for name, value in row.items() if value is not None}


def title_details(title: Title, lang: str, forbidden: str) -> Row:
    """Return a title with all its facts, for the model."""
    return {
        **title_row(title, lang),
        "genres": list(title.genres),
        "age": title.age,
        "minutes": -(-title.duration // 60) if title.duration else None,
        "plot": plot_of(title, lang),
        "forbidden": forbidden,
        "watched": title.watched,
        "liked": title.liked,
    }


def playback_row(playback: Playback, lang: str) -> Row:
    """Return a playback for the model; times in seconds."""
    title = playback.title
    return {
        "state": playback.state,
        "volume": playback.volume,
        **({"title_id": title.id, "name": title_line(title, lang), "duration": title.duration} if title else {}),
        "position": playback.position,
        "off_at_end": playback.off_at_end,
    }


def playback_view(playback: Playback, lang: str) -> PlayerView:
    """Return a playback for the screen."""
    title, length = playback.title, playback.title.duration if playback.title else None
    if title is None:
        return PlayerView(state="stopped", title=said("nothing", lang), volume=playback.volume)
    line = title_line(title, lang)
    if playback.off_at_end:
        line = said("off_at_end", lang, title=line)
    return PlayerView(
        state=playback.state, title=line, position=playback.position, duration=length, volume=playback.volume
    )


def clock(seconds: int) -> str:
    """Return a position in minutes and seconds."""
    return f"{seconds // 60}:{seconds % 60:02}"


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


TITLE = {**_object(**ROW), "$comment": "the title"}
TITLES = {"type": "array", "items": _object(**ROW)}
SOME_TITLES = {**TITLES, "$comment": "titles"}
DETAILS = {
    **_object(
        **ROW,
        genres={"type": "array", "items": TEXT},
        age=NUMBER,
        minutes=NUMBER,
        plot=TEXT,
        watched=FLAG,
        liked=FLAG,
        forbidden=TEXT,
    ),
    "$comment": "all facts; forbidden: why not to be played",
}
PLAYBACK = {
    **_object(
        state=TEXT, volume=NUMBER, title_id=TITLE_ID, name=TEXT, duration=NUMBER, position=NUMBER, off_at_end=FLAG
    ),
    "$comment": "what plays",
}
