"""Facts from earlier conversations: kept at their ends, and told, corrected and deleted at the user's word."""

from dialogs import Dialog
from dialogs.recall.commands import command_line, export, forget, memory
from dialogs.recall.settings import RecallSettings
from dialogs.recall.store import TABLES
from dialogs.recall.summaries import open_services
from dialogs.recall.tools import correct_memory, delete_memory, search_memory, user_lines

dialog = Dialog(
    tool="look_back",
    description="Used for what earlier conversations with the user were about: telling, correcting and deleting what "
    "is kept of them in memory.",
    tools=[search_memory, correct_memory, delete_memory],
    resume="never",
    settings=RecallSettings,
    tables=TABLES,
    services=open_services,
    commands=[memory],
    command_line=command_line,
    forget=forget,
    export=export,
    user_lines=user_lines,
)
