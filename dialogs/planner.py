"""The user's to-dos."""

from agents.tools.todos import add_todos, change_todo, delete_todos, list_todos
from dialogs import Dialog

dialog = Dialog(
    tool="plan_things",
    description="Used for the user's to-dos: adding, listing, changing, ticking off and deleting them.",
    tools=[add_todos, list_todos, change_todo, delete_todos],
    resume="never",
)
