"""Questions that documents answer: the help pages, the user's own documents and, where set up, the web."""

from dialogs.research.tools import search
from dialogs import Dialog

dialog = Dialog(
    tool="look_things_up",
    description="Used for looking things up in documents and, where set up, on the web, with numbered sources.",
    tools=[search],
    resume="never",
)
