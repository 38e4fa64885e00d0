"""The player of the user of a turn, and in words why something cannot be played."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agents.media import Playback, Player, PlayerError, Title
from agents.media.viewers import Viewer, viewer_of
from agents.memory.media_rows import MediaRows
from agents.toolkit import Refused, Runtime
from agents.tools.player.wording import title_line
from prompts import phrase

LOG = logging.getLogger(__name__)


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
    if context.players is None or context.database is None:
        raise Refused(phrase("media_nowhere", lang))
    async with context.locks.hold(f"media of {context.user}"):
        viewer = await viewer_of(MediaRows(context.database), context.user, context.device)
        if viewer is None:
            raise Refused(phrase("media_no_viewer", lang))
        try:
            yield Seat(viewer, context.players.of(viewer.profile))
        except PlayerError as error:
            if error.reason:
                LOG.warning("%s", error.reason)
            raise Refused(reason(error, viewer, lang)) from None


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
    facts = {"title": title, "age": error.title.age if error.title else "", "limit": viewer.age, "code": error.code}
    return phrase(f"media_{error.code}", lang, **facts)
