"""The player of the user of a turn, what it plays, and in words why something cannot be played."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agents.toolkit import Refused, Runtime
from agents.toolkit.context import Context
from dialogs.player.players import Playback, Player, PlayerError, Players, Title, Viewer
from dialogs.player.settings import PlayerSettings
from dialogs.player.store import MediaStore
from dialogs.player.wording import clock, said, title_line

LOG = logging.getLogger(__name__)
LONGEST_LINE = 200
"""Characters of a title that are told with each message."""


@dataclass(frozen=True)
class Seat:
    """A viewer before their player."""

    viewer: Viewer
    player: Player

    async def play(self, title: Title, position: int | None = None) -> Playback:
        """Play a title if the viewer may see it; without a position where it was left. Raises PlayerError."""
        self.viewer.check(title)
        return await self.player.play(title.id, title.position if position is None else position)


@asynccontextmanager
async def seat(runtime: Runtime) -> AsyncIterator[Seat]:
    """Yield the user's player; what it cannot do is refused with its reason and its code.

    Calls of one profile come one after the other, in the order in which they were made.

    Raises:
        Refused: there is no player for this user, or it cannot do this.
    """
    context, lang = runtime.context, runtime.state["lang"]
    async with context.locks.hold(f"media of {context.user}"):
        viewer = await context.service(MediaStore).viewer(context.user, context.device)
        if viewer is None:
            raise Refused(said("no_viewer", lang))
        try:
            yield Seat(viewer, context.service(Players).of(viewer.profile))
        except PlayerError as error:
            if error.reason:
                LOG.warning("%s", error.reason)
            raise Refused(reason(error, viewer, lang)) from None


async def playing_now(context: Context, lang: str) -> Sequence[str]:
    """Return a line on what plays; what a person watches is not told where others read along."""
    viewer = await context.service(MediaStore).viewer(context.user, context.device)
    if viewer is None or context.is_shared:
        return []
    try:
        playback = await context.service(Players).of(viewer.profile).now()
    except PlayerError:
        return []
    if playback.title is None:
        return [said("screen_empty", lang)]
    title, position = title_line(playback.title, lang)[:LONGEST_LINE], clock(playback.position)
    return [said(f"screen_{playback.state}", lang, title=title, position=position)]


def has_foreign_titles(context: Context) -> bool:
    """Tell whether names and plots were written by others: all are, but for those of the small catalogue."""
    settings = context.service(PlayerSettings)
    return bool(settings.media_folder or settings.kodi_url)


def why_not(title: Title, viewer: Viewer, lang: str) -> str:
    """Return why a viewer may not see a title; empty if they may."""
    try:
        viewer.check(title)
    except PlayerError as error:
        return reason(error, viewer, lang)
    return ""


def reason(error: PlayerError, viewer: Viewer, lang: str) -> str:
    """Return why something cannot be done, with the code."""
    title = title_line(error.title, lang) if error.title else ""
    age = error.title.age if error.title else ""
    return said(error.code, lang, title=title, age=age, limit=viewer.age, code=error.code)
