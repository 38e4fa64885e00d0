"""What "undo" puts back: what played, how loud, and what is liked or marked as watched."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.toolkit import Runtime
from dialogs.player.phrases import said
from dialogs.player.players import Playback, PlayerError
from dialogs.player.tools.access import seat
from dialogs.player.tools.wording import name_of, title_line

ONE = "playback"
"""The key of the one thing that a profile plays."""


class PlayedNow:
    """What plays. A position moves by itself, so that it is no difference; it comes back as it was."""

    name = "media_playback"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return what plays."""
        async with seat(runtime) as own:
            return {ONE: playback_value(await own.player.now(), runtime.state["lang"])}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Play what played before, or stop."""
        async with seat(runtime) as own:
            if not value["title"]:
                if (await own.player.now()).title:
                    await own.player.stop()
                return
            await own.play(await own.player.title(value["title"]), value["position"])
            if value["state"] == "paused":
                await own.player.pause()
            if value["off_at_end"]:
                await own.player.set_off_at_end(True)

    def same(self, one: Any, other: Any) -> bool:
        """Compare title, state and what happens at its end."""
        names = ("title", "state", "off_at_end")
        return one is other or (bool(one and other) and all(one[name] == other[name] for name in names))

    def worded(self, value: Any, lang: str) -> str:
        """Return what plays in words."""
        if not value["title"]:
            return said("nothing", lang)
        return said(f"{value['state']}", lang, title=value["name"])


class Volume:
    """How loud it is, in per cent."""

    name = "media_volume"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return the volume."""
        async with seat(runtime) as own:
            return {ONE: (await own.player.now()).volume}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Set the volume."""
        async with seat(runtime) as own:
            await own.player.set_volume(value)

    def same(self, one: Any, other: Any) -> bool:
        """Compare two volumes."""
        return bool(one == other)

    def worded(self, value: Any, lang: str) -> str:
        """Return the volume in words."""
        return said("volume", lang, percent=value)


class Marks:
    """What is liked and watched; the key of a mark is its title."""

    name = "media_marks"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return the marks of titles that are still there."""
        marks: dict[str, Any] = {}
        async with seat(runtime) as own:
            for key in keys:
                try:
                    title = await own.player.title(key)
                except PlayerError:
                    continue
                lang = runtime.state["lang"]
                marks[key] = {"name": name_of(title, lang), "liked": title.liked, "watched": title.watched}
        return marks

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Set both marks of a title."""
        async with seat(runtime) as own:
            title = await own.player.title(key)
            if title.liked != value["liked"]:
                await own.player.set_liked(key, value["liked"])
            if title.watched != value["watched"]:
                await own.player.set_watched(key, value["watched"])

    def same(self, one: Any, other: Any) -> bool:
        """Compare both marks."""
        names = ("liked", "watched")
        return one is other or (bool(one and other) and all(one[name] == other[name] for name in names))

    def worded(self, value: Any, lang: str) -> str:
        """Return the marks in words."""
        liked = said("is_liked" if value["liked"] else "is_not_liked", lang)
        watched = said("is_watched" if value["watched"] else "is_not_watched", lang)
        return f"{value['name']} ({liked}, {watched})"


PLAYED_NOW, VOLUME, MARKS = PlayedNow(), Volume(), Marks()


def playback_value(playback: Playback, lang: str) -> dict[str, Any]:
    """Return what plays as it is entered in the undo log."""
    title = playback.title
    return {
        "title": title.id if title else "",
        "name": title_line(title, lang) if title else "",
        "state": playback.state,
        "position": playback.position,
        "off_at_end": playback.off_at_end,
    }
