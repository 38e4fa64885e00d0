"""Tools that play, stop and mark titles. Undo takes each back, and a repeated call changes nothing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

from langchain_core.tools import tool
from langgraph.types import interrupt
from pydantic import Field

from agents.events.views import MOST_ENTRIES
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.traits import Items
from agents.toolkit.undo import entered
from dialogs.player.players import Playback, PlayerError, State, Title
from dialogs.player.search import AnyKind, Query, episode_after, fitting, in_alarms, next_to_watch, span_of
from dialogs.player.services import Viewing, has_foreign_titles, viewing_of
from dialogs.player.wording import PLAYBACK, TitleId, name_of, playback_row, playback_view, said, title_line

ONE = "playback"
"""The key of a profile's playback, of which there is one."""
Words = Annotated[str, Field(max_length=200)]
Percent = Annotated[int, Field(ge=0, le=100)]
Action = Literal["pause", "resume", "stop", "stop_at_end", "play_on", "next_episode", "next_season"]
STATES: Mapping[str, State] = {"pause": "paused", "resume": "playing", "stop": "stopped"}
OUTCOMES: Mapping[str, Mapping[str, object]] = {
    "pause": {"state": "paused"},
    "resume": {"state": "playing"},
    "stop": {"title": "", "state": "stopped", "off_at_end": False},
    "stop_at_end": {"off_at_end": True},
    "play_on": {"off_at_end": False},
}
"""The changes of the playback by an action."""
ALARM = "alarm"
STEP = 10
"""The step of "louder", in per cent."""
steers = partial(
    traits, effect="write", repeatable=True, confirm="never", foreign=has_foreign_titles, result=PLAYBACK, view="player"
)
"""The traits of tools without a question: the user sees and hears their effect at once, and undoes it with a word."""


class PlayedNow(Items):
    """The playback, for undo. Comparisons leave the position out, since it moves by itself; undo restores it."""

    name = "media_playback"

    def same(self, item: Json | None, other: Json | None) -> bool:
        """Compare title, state and `off_at_end`."""
        compared = ("title", "state", "off_at_end")
        return item == other or bool(item and other and all(item[name] == other[name] for name in compared))

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the present playback."""
        async with viewing_of(runtime) as viewing:
            return {ONE: playback_value(await viewing.player.now(), runtime.state["lang"])}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Restore a former playback, or stop."""
        async with viewing_of(runtime) as viewing:
            if not value["title"]:
                if (await viewing.player.now()).title:
                    await viewing.player.set_state("stopped")
                return
            await viewing.play(await viewing.player.title(value["title"]), value["position"])
            if value["state"] == "paused":
                await viewing.player.set_state("paused")
            if value["off_at_end"]:
                await viewing.player.set_off_at_end(True)

    def worded(self, value: Json, lang: str) -> str:
        """Return a playback in words."""
        if not value["title"]:
            return said("nothing", lang)
        return said(f"{value['state']}", lang, title=value["name"])


class Volume(Items):
    """The volume in per cent, for undo."""

    name = "media_volume"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return the volume."""
        async with viewing_of(runtime) as viewing:
            return {ONE: (await viewing.player.now()).volume}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Set the volume."""
        async with viewing_of(runtime) as viewing:
            await viewing.player.set_volume(value)

    def worded(self, value: object, lang: str) -> str:
        """Return the volume in words."""
        return said("volume", lang, percent=value)


class Marks(Items):
    """The marks of liked and watched titles, for undo; the key of a mark is its title."""

    name = "media_marks"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the marks of existing titles."""
        marks: dict[str, Json] = {}
        async with viewing_of(runtime) as viewing:
            for key in keys:
                with suppress(PlayerError):
                    marks[key] = _mark(await viewing.player.title(key), runtime.state["lang"])
        return marks

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Set both marks of a title."""
        async with viewing_of(runtime) as viewing:
            title = await viewing.player.title(key)
            # A series that is marked as not watched would mark its episodes too, so only a different mark is set.
            liked = value["liked"] if value["liked"] != title.liked else None
            watched = value["watched"] if value["watched"] != title.watched else None
            await viewing.player.mark(key, liked=liked, watched=watched)

    def worded(self, value: Json, lang: str) -> str:
        """Return the marks in words."""
        liked = said("is_liked" if value["liked"] else "is_not_liked", lang)
        watched = said("is_watched" if value["watched"] else "is_not_watched", lang)
        return f"{value['name']} ({liked}, {watched})"


PLAYED_NOW, VOLUME, MARKS = PlayedNow(), Volume(), Marks()


def playback_value(playback: Playback, lang: str) -> Json:
    """Return a playback in the form of the undo log."""
    title = playback.title
    return {
        "title": title.id if title else "",
        "name": title_line(title, lang) if title else "",
        "state": playback.state,
        "position": playback.position,
        "off_at_end": playback.off_at_end,
    }


@steers(undo=PLAYED_NOW)
@tool(response_format="content_and_artifact")
async def play_title(title_id: TitleId, runtime: Runtime, from_start: bool = False) -> Answer:
    """Play a film or an episode, from where it was left; of a series the next episode.

    title_id: as listed.
    from_start: from its beginning.
    """
    async with viewing_of(runtime) as viewing:
        title = await _to_watch(viewing, await viewing.player.title(title_id))
        return await _play(viewing, title, runtime, from_start=from_start)


@steers(undo=PLAYED_NOW)
@tool(response_format="content_and_artifact")
async def play_from(source: Words, runtime: Runtime, what: AnyKind = "any") -> Answer:
    """Play what was played on a day, or what the user's alarm of now is about.

    source: the day, as in list_played, or alarm.
    what: of which kind.
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        if source == ALARM:
            played_or_set: Sequence[Title] = await in_alarms(viewing.player, runtime)
        else:
            played_or_set = await viewing.player.history(*await span_of(source, runtime))
        titles = [title for title in played_or_set if title in fitting(played_or_set, Query(what=what), lang)]
        if not titles:
            raise Refused(said("none_of", lang))
    title = titles[0]
    if len(titles) > 1:
        options = {it.id: title_line(it, lang) for it in titles[:MOST_ENTRIES]}
        chosen = interrupt({"question": said("which", lang), "options": options})
        title = next(it for it in titles if it.id == chosen)
    async with viewing_of(runtime) as viewing:
        return await _play(viewing, await _to_watch(viewing, title), runtime, from_start=title.watched)


@steers(undo=PLAYED_NOW)
@tool(response_format="content_and_artifact")
async def control_playback(action: Action, runtime: Runtime) -> Answer:
    """Steer what plays.

    action: stop_at_end is a sleep timer, off when this title has ended; play_on takes that back.
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        now = await viewing.player.now()
        if now.title is None:
            raise PlayerError("nothing_plays")
        if action in ("next_episode", "next_season"):
            episodes = await viewing.player.episodes(now.title.series) if now.title.series else []
            if (following := episode_after(now.title, episodes, other_season=action == "next_season")) is None:
                raise Refused(said("no_next", lang, title=title_line(now.title, lang)))
            return await _play(viewing, following, runtime, from_start=True)
        before = playback_value(now, lang)
        await entered(runtime, PLAYED_NOW, {ONE: (before, {**before, **OUTCOMES[action]})})
        if action in STATES:
            return _playing(await viewing.player.set_state(STATES[action]), runtime)
        return _playing(await viewing.player.set_off_at_end(action == "stop_at_end"), runtime)


@steers(undo=VOLUME)
@tool(response_format="content_and_artifact")
async def set_volume(
    runtime: Runtime, volume: Percent | None = None, change: Literal["louder", "quieter", "mute"] | None = None
) -> Answer:
    """Set the volume, or change it.

    volume: in per cent.
    change: if no number was named.
    """
    async with viewing_of(runtime) as viewing:
        before = (await viewing.player.now()).volume
        steps = {"louder": min(before + STEP, 100), "quieter": max(before - STEP, 0), "mute": 0}
        after = volume if volume is not None else steps[change] if change else before
        await entered(runtime, VOLUME, {ONE: (before, after)})
        return _playing(await viewing.player.set_volume(after), runtime)


@traits(effect="write", repeatable=True, undo=MARKS)
@tool
async def mark_title(
    title_id: TitleId, runtime: Runtime, liked: bool | None = None, watched: bool | None = None
) -> str:
    """Note that the user likes a title, or has watched it or the whole series.

    title_id: as listed.
    liked: whether they do.
    watched: whether they have.
    """
    lang = runtime.state["lang"]
    async with viewing_of(runtime) as viewing:
        title = await viewing.player.title(title_id)
        marked = await viewing.player.episodes(title_id) if title.kind == "series" and watched is not None else []
        changes = {it.id: (_mark(it, lang), _mark(it, lang, watched=watched)) for it in marked}
        changes[title.id] = (_mark(title, lang), _mark(title, lang, liked=liked, watched=watched))
        await entered(runtime, MARKS, changes)
        title = await viewing.player.mark(title_id, liked=liked, watched=watched)
    return said("noted", lang, mark=MARKS.worded(_mark(title, lang), lang))


async def _to_watch(viewing: Viewing, title: Title) -> Title:
    """Return the title to play: of a series the next episode. Raises PlayerError."""
    viewing.viewer.check(title)
    episodes = await viewing.player.episodes(title.id) if title.kind == "series" else []
    return next_to_watch(episodes) or title


async def _play(viewing: Viewing, title: Title, runtime: Runtime, *, from_start: bool) -> Answer:
    viewing.viewer.check(title)
    now, lang = await viewing.player.now(), runtime.state["lang"]
    before = playback_value(now, lang)
    is_same = now.title is not None and now.title.id == title.id
    position = 0 if from_start else now.position if is_same else None
    after = {**before, "title": title.id, "name": title_line(title, lang), "state": "playing", "off_at_end": False}
    await entered(runtime, PLAYED_NOW, {ONE: (before, after)})
    return _playing(await viewing.play(title, position), runtime)


def _mark(title: Title, lang: str, *, liked: bool | None = None, watched: bool | None = None) -> dict[str, object]:
    return {
        "name": name_of(title, lang),
        "liked": title.liked if liked is None else liked,
        "watched": title.watched if watched is None else watched,
    }


def _playing(playback: Playback, runtime: Runtime) -> Answer:
    lang = runtime.state["lang"]
    return result(playback_row(playback, lang), view=playback_view(playback, lang))
