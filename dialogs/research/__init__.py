"""Questions that documents answer: the help pages, the user's own documents and, where set up, the web."""

from dialogs import Dialog
from dialogs.research.command_line import command_line
from dialogs.research.index import DocumentIndex
from dialogs.research.services import DocumentLink, forget, known_sources, open_services, told_of_the_web
from dialogs.research.settings import ResearchSettings
from dialogs.research.tools import search

dialog = Dialog(
    tool="look_things_up",
    description="Used for looking things up in documents or on the web, with numbered sources.",
    tools=[search],
    resume="never",
    settings=ResearchSettings,
    services=open_services,
    command_line=command_line,
    help={DocumentLink.name: lambda services: DocumentLink(services.get(DocumentIndex))},
    forget=forget,
    context_lines=known_sources,
    user_lines=told_of_the_web,
)
