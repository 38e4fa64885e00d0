"""Questions that documents answer: the help pages, the user's own documents and, where set up, the web."""

from collections.abc import Collection

from agents.toolkit.services import Services
from dialogs import Dialog
from dialogs.research.command_line import application
from dialogs.research.services import known_sources, open_services
from dialogs.research.settings import ResearchSettings
from dialogs.research.store import TABLES, SearchCache
from dialogs.research.tools import search


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete all that searches have found: it tells what somebody had asked for."""
    await services.get(SearchCache).erase()


dialog = Dialog(
    tool="look_things_up",
    description="Used for looking things up in documents and, where set up, on the web, with numbered sources.",
    tools=[search],
    resume="never",
    settings=ResearchSettings,
    tables=TABLES,
    services=open_services,
    command_line=application,
    forget=forget,
    context_lines=known_sources,
)
