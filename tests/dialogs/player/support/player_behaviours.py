"""The behaviours of every kind of player, for the embedded library and for Kodi."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import pytest

from dialogs.player.players import MediaPlayer, PlayerError, State, Title
from tests.dialogs.player.support.media_folder import EPISODES, MINUTE, SERIES, YEAR

T = TypeVar("T")
FIRST, SECOND, LAST = EPISODES.values()
LOOKS, PAUSE = 600, 0.1
"""A player may note something a little after it has answered."""


class Stage(Protocol):
    """A player on the titles of `media_folder`, of which nothing was played, and what happens to it."""

    def player(self) -> MediaPlayer:
        """Return the player, as a process has it that has just started."""

    async def end(self) -> None:
        """Let what plays come to its end."""

    async def lose(self, name: str) -> None:
        """Take the file of a title away."""


Behaviour = Callable[[Stage], Awaitable[None]]


async def id_of(player: MediaPlayer, name: str) -> str:
    """Return the id of a film, the series or an episode."""
    titles = {title.name: title.id for title in await player.titles()}
    return titles.get(name) or {it.name: it.id for it in await player.episodes(titles[SERIES])}[name]


async def eventually(look: Callable[[], Awaitable[T]], is_so: Callable[[T], bool]) -> T:
    """Look until something is so; return what was seen last."""
    for _ in range(LOOKS):
        if is_so(seen := await look()):
            break
        await asyncio.sleep(PAUSE)
    return seen


async def code_of(call: Awaitable[object]) -> str:
    """Return why something cannot be done."""
    with pytest.raises(PlayerError) as caught:
        await call
    return caught.value.code


async def tells_its_titles(stage: Stage) -> None:
    """Films and series come with their facts, and the episodes in their order."""
    player = stage.player()
    titles = {title.name: title for title in await player.titles()}
    assert set(titles) == {"Metropolis", "Nosferatu", SERIES}
    film = titles["Metropolis"]
    assert (film.kind, film.year, film.genres, film.rating, film.age) == ("film", 1927, ("science fiction",), 8.3, 8)
    assert film.duration == MINUTE
    assert (film.position, film.watched, film.liked) == (0, False, False)
    assert titles["Nosferatu"].age is None
    series = titles[SERIES]
    assert (series.kind, series.year, series.rating, series.age) == ("series", YEAR, 7.1, 14)
    episodes = await player.episodes(series.id)
    assert {(it.season, it.episode): it.name for it in episodes} == EPISODES
    assert [it.name for it in episodes] == [FIRST, SECOND, LAST]
    first = episodes[0]
    assert (first.kind, first.series, first.series_name, first.age) == ("episode", series.id, SERIES, 14)
    assert first.rating == 7.1
    assert first.genres == ("adventure",)
    assert await player.title(first.id) == first
    assert list(await player.episodes(film.id)) == []


async def plays_and_stops(stage: Stage) -> None:
    """A title plays from a position, pauses, goes on, and keeps its position when it is stopped."""
    player = stage.player()
    film = await id_of(player, "Metropolis")
    before = await player.now()
    assert (before.state, before.title, before.off_at_end) == ("stopped", None, False)
    playing = await player.play(film, 20)
    assert playing.title
    assert (playing.title.id, playing.state, playing.position) == (film, "playing", 20)
    assert (await player.set_state("paused")).state == "paused"
    assert (await player.now()).state == "paused"
    assert (await player.set_state("playing")).state == "playing"
    again = await player.play(film, 40)
    assert again.title
    assert (again.title.id, again.state, again.position) == (film, "playing", 40)
    # A player may begin a little before, where its file has a whole picture.
    assert (await eventually(player.now, lambda now: now.position >= 35)).position >= 35
    stopped = await player.set_state("stopped")
    assert (stopped.state, stopped.title) == ("stopped", None)
    left = await eventually(lambda: player.title(film), lambda title: title.position >= 35)
    assert left.position >= 35
    assert not left.watched


async def sets_the_volume(stage: Stage) -> None:
    """The volume is set while nothing plays, and stays."""
    player = stage.player()
    assert (await player.set_volume(20)).volume == 20
    assert (await stage.player().now()).volume == 20
    assert (await player.set_volume(0)).volume == 0


async def says_what_cannot_be_played(stage: Stage) -> None:
    """Each reason has its code, and what plays goes on."""
    player = stage.player()
    film, lost, series = [await id_of(player, name) for name in ("Metropolis", "Nosferatu", SERIES)]
    for unknown in ("", "film-999", "episode-999", "series-999", "nothing", "film-0", "film-1; x"):
        assert await code_of(player.title(unknown)) == "no_title"
        assert await code_of(player.play(unknown)) == "no_title"
        assert await code_of(player.mark(unknown, liked=True)) == "no_title"
        assert await code_of(player.episodes(unknown)) == "no_title"
    states: tuple[State, ...] = ("paused", "playing", "stopped")
    for call in (*map(player.set_state, states), player.set_off_at_end(True)):
        assert await code_of(call) == "nothing_plays"
    await player.play(film)
    await stage.lose("Nosferatu")
    assert await code_of(player.play(series)) == "not_playable"
    assert await code_of(player.play(lost)) == "missing_file"
    now = await player.now()
    assert now.title
    assert now.title.id == film


async def goes_on_with_the_next_episode(stage: Stage) -> None:
    """At the end of an episode the next one plays, and the one that was seen is marked."""
    player = stage.player()
    series, second, last = [await id_of(player, name) for name in (SERIES, SECOND, LAST)]
    await player.play(second)
    await stage.end()
    assert await _shown(player, last) == last
    await stage.end()
    assert await _shown(player, "") == ""
    episodes = await eventually(lambda: player.episodes(series), lambda seen: all(it.watched for it in seen[1:]))
    assert [(it.watched, it.position) for it in episodes] == [(False, 0), (True, 0), (True, 0)]
    assert not (await player.title(series)).watched


async def is_off_at_the_end(stage: Stage) -> None:
    """With "off at the end" an episode is the last one, for a process that has just started as well."""
    player = stage.player()
    first, second = [await id_of(player, name) for name in (FIRST, SECOND)]
    await player.play(first)
    assert (await player.set_off_at_end(True)).off_at_end
    assert (await stage.player().now()).off_at_end
    await stage.end()
    assert await _shown(stage.player(), "") == ""
    await player.play(second)
    assert not (await player.now()).off_at_end


async def forgets_to_be_off(stage: Stage) -> None:
    """A film can have it too; it is taken back by a word, and ends with another title."""
    player = stage.player()
    film, first, second = [await id_of(player, name) for name in ("Metropolis", FIRST, SECOND)]
    await player.play(film)
    assert not (await player.now()).off_at_end
    assert (await player.set_off_at_end(True)).off_at_end
    assert not (await player.set_off_at_end(False)).off_at_end
    await player.set_off_at_end(True)
    assert not (await player.play(first)).off_at_end
    await player.set_off_at_end(True)
    assert not (await player.set_off_at_end(False)).off_at_end
    await stage.end()
    assert await _shown(player, second) == second


async def marks_titles(stage: Stage) -> None:
    """Likes and marks of what was watched stay; a series is watched when all of its episodes are."""
    player = stage.player()
    film, series, first = [await id_of(player, name) for name in ("Metropolis", SERIES, FIRST)]
    for id in (film, series, first):
        assert (await player.mark(id, liked=True)).liked
        assert (await stage.player().title(id)).liked
        assert not (await player.mark(id, liked=False)).liked
    assert (await player.mark(film, watched=True)).watched
    assert not (await player.mark(film, watched=False)).watched
    await player.mark(first, watched=True)
    assert not (await player.title(series)).watched
    assert (await player.mark(series, watched=True)).watched
    assert all(it.watched for it in await player.episodes(series))
    assert not (await player.mark(series, watched=False)).watched
    assert not any(it.watched for it in await player.episodes(series))


async def tells_what_was_played(stage: Stage) -> None:
    """The history has what plays and what was played, the latest first and each title once, in its span alone."""
    player, start = stage.player(), datetime.now(UTC)
    film, first = [await id_of(player, name) for name in ("Metropolis", FIRST)]
    span = start - timedelta(hours=1), start + timedelta(hours=1)
    assert list(await player.history(*span)) == []
    await player.play(film)
    assert [title.id for title in await player.history(*span)] == [film]
    await stage.end()
    await player.play(first)

    both = [first, film]

    async def played() -> list[str]:
        return [title.id for title in await player.history(*span)]

    assert await eventually(played, both.__eq__) == both
    await player.set_state("stopped")
    assert set(await eventually(played, lambda ids: set(ids) == set(both))) == set(both)
    assert list(await player.history(start - timedelta(days=2), start - timedelta(days=1))) == []


async def _shown(player: MediaPlayer, id: str) -> str:
    """Wait until a title is on the screen, or nothing is; return what is there."""

    async def look() -> str:
        title: Title | None = (await player.now()).title
        return title.id if title else ""

    return await eventually(look, lambda shown: shown == id)


BEHAVIOURS: tuple[Behaviour, ...] = (
    tells_its_titles,
    plays_and_stops,
    sets_the_volume,
    says_what_cannot_be_played,
    goes_on_with_the_next_episode,
    is_off_at_the_end,
    forgets_to_be_off,
    marks_titles,
    tells_what_was_played,
)
