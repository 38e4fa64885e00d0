"""Tools that look titles up: search, history, episodes, a title's card, the present playback."""

from collections.abc import Sequence
from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.events.views import MOST_ENTRIES
from agents.toolkit import Answer, CardList, Option, Refused, Runtime, choice, result, traits
from dialogs.player import wording
from dialogs.player.players import Title
from dialogs.player.search import AnyKind, Query, facts_of, fitting, named_by, shown_last, span_of
from dialogs.player.services import has_foreign_titles, viewing_of, why_not
from dialogs.player.wording import TitleId, said, title_entry, title_line, title_row

Words = Annotated[str, Field(max_length=200)]
Rating = Annotated[float, Field(ge=0, le=10)]


@traits(foreign=has_foreign_titles, result=wording.TITLES, view="cards")
@tool(response_format="content_and_artifact")
async def search_titles(
    runtime: Runtime,
    words: Words = "",
    what: AnyKind = "any",
    genre: Words = "",
    year: int = 0,
    rating_from: Rating = 0,
    liked: bool = False,
    unwatched: bool = False,
    listed: bool = False,
) -> Answer:
    """Find titles.

    words: of the title.
    what: of which kind.
    genre: one.
    year: of release.
    rating_from: of 10, high is 8.
    liked: only what the user likes.
    unwatched: only what they have not watched.
    listed: only among those listed last.
    """
    lang = runtime.state["lang"]
    query = Query(words, what, genre, year or None, rating_from or None, liked or None, False if unwatched else None)
    async with viewing_of(runtime) as viewing:
        titles = await shown_last(viewing.player, runtime) if listed else await viewing.player.titles()
        if listed and not titles:
            raise Refused(said("no_list", lang))
    return _listed(fitting(titles, query, lang), said("titles", lang), runtime)


@traits(foreign=has_foreign_titles, result=wording.SOME_TITLES, view="cards", private=True)
@tool(response_format="content_and_artifact")
async def list_played(runtime: Runtime, day: Words = "") -> Answer:
    """List what was played.

    day: today, yesterday, a weekday or YYYY-MM-DD; left out, a week.
    """
    lang = runtime.state["lang"]
    since, until = await span_of(day, runtime)
    async with viewing_of(runtime) as viewing:
        titles = await viewing.player.history(since, until)
    return _listed(titles, said("played", lang), runtime)


@traits(foreign=has_foreign_titles, kind="selector", result=wording.TITLE)
@tool(response_format="content_and_artifact")
async def choose_title(runtime: Runtime, words: Words = "") -> Answer:
    """Find one title; of several the user chooses.

    words: the user's ("the second one").
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        if words:
            titles = await named_by(words, viewing.player, runtime)
        else:
            titles = await shown_last(viewing.player, runtime) or list(await viewing.player.titles())
    if not titles:
        raise Refused(said("nothing_called", lang, words=words))
    return choice(said("which", lang), [_option(title, runtime) for title in titles[:MOST_ENTRIES]])


@traits(foreign=has_foreign_titles, result=wording.SOME_TITLES, view="cards")
@tool(response_format="content_and_artifact")
async def list_episodes(title_id: TitleId, runtime: Runtime, season: int = 0) -> Answer:
    """List the episodes of a series.

    title_id: as listed.
    season: 0 for all.
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        series = await viewing.player.title(title_id)
        episodes = await viewing.player.episodes(series.series or title_id)
    of_season = [episode for episode in episodes if season in (0, episode.season)]
    return _listed(of_season, title_line(series, lang), runtime)


@traits(foreign=has_foreign_titles, result=wording.DETAILS, view="cards")
@tool(response_format="content_and_artifact")
async def show_title(title_id: TitleId, runtime: Runtime) -> Answer:
    """Show all about a film, series or episode.

    title_id: as listed.
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        title = await viewing.player.title(title_id)
        forbidden = why_not(title, viewing.viewer, lang)
    view = wording.title_card(title, lang, forbidden, alone=runtime.context.is_shared)
    return result(wording.title_details(title, lang, forbidden), view=view)


@traits(foreign=has_foreign_titles, result=wording.PLAYBACK, view="player", volatile=True)
@tool(response_format="content_and_artifact")
async def now_playing(runtime: Runtime) -> Answer:
    """Tell what plays now, how far it is and how loud."""
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        playback = await viewing.player.now()
    return result(wording.playback_row(playback, lang), view=wording.playback_view(playback, lang))


def _listed(titles: Sequence[Title], heading: str, runtime: Runtime) -> Answer:
    lang, alone = runtime.state["lang"], runtime.context.is_shared
    if not titles:
        return result([], view=CardList(title=said("none", lang), entries=[]))
    entries = [title_entry(title, lang, alone=alone) for title in titles[:MOST_ENTRIES]]
    not_listed = len(titles) - len(entries)
    title = said("more", lang, title=heading, count=not_listed) if not_listed else heading
    return result([title_row(it, lang) for it in titles[:MOST_ENTRIES]], view=CardList(title=title, entries=entries))


def _option(title: Title, runtime: Runtime) -> Option:
    lang = runtime.state["lang"]
    entry = title_entry(title, lang, alone=runtime.context.is_shared)
    return Option(entry.label, title_row(title, lang), entry.detail, title.id, facts_of(title))
