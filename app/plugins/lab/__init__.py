"""The lab: look at threads, try and judge conversations, mock tools, put agents together, teach (docs/lab.md)."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.plugin import Events, PlayTurn, Plugin, TurnRequest
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speakers
from app.plugins.lab.folder import LabSettings
from prompts import read_anew

if TYPE_CHECKING:
    from app.plugins.lab.agent_file import Agent

SHARED = Path("agents") / "shared"
"""The folder of the shared agents, within the lab's folder: they are dialogs for everybody."""


class LiveTexts:
    """Watches for prompts and cards that were made live, also by other processes: each change is a file of a folder."""

    def __init__(self, changes: Path) -> None:
        self._changes = changes
        self._seen = self._changed_ns()

    def refresh(self) -> None:
        """Read all texts anew if one was made live since the last look."""
        if (changed := self._changed_ns()) != self._seen:
            self._seen = changed
            read_anew()

    def _changed_ns(self) -> int:
        return self._changes.stat().st_mtime_ns if self._changes.is_dir() else 0


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the watcher of live texts as a service."""
    yield [LiveTexts(services.get(LabSettings).lab_folder / "changes")]


async def with_live_texts(request: TurnRequest, play: PlayTurn) -> Events:
    """Begin a turn with the prompts and cards that are live now."""
    request.context.services.get(LiveTexts).refresh()
    async with aclosing(play(request)) as events:
        async for event in events:
            yield event


def shared_agents(settings: LabSettings, speakers: Speakers, observers: Collection[str]) -> dict[str, "Agent"]:
    """Return the shared agents of LAB_FOLDER, by the names of their files. Raises as `shared_agent`."""
    files = sorted((settings.lab_folder / SHARED).glob("*.yaml"))
    # Most installations have no such file.
    reader: Any = import_module("app.plugins.lab.agent_file") if files else None
    return {file.stem: reader.shared_agent(file, speakers, observers) for file in files}


async def thread_test(assistant: Any, thread: str, lang: str) -> tuple[str, str]:
    """Return a thread as a trace test, and a remark. Raises as `test_of`."""
    # A stage to play it on is of no use to other commands.
    writer: Any = import_module("app.plugins.lab.trace_test")
    source, remark = await writer.test_of(assistant, thread, lang)
    return source, remark


plugin = Plugin(
    settings=LabSettings,
    dialogs=shared_agents,
    services=opened,
    command_line="app.plugins.lab.commands",
    routes=("app.plugins.lab.pages.router",),
    thread_test=thread_test,
    around_turn=with_live_texts,
)
