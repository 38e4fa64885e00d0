"""Load before the first message what would be loaded in it: prompts, the index of tools, dialogs, observers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.messages import BaseMessage

from agents.memory import open_memory
from agents.models.script import Call, Line, Script
from agents.state import SUPERVISOR
from app.assistant.assistant import Assistant
from app.assistant.turn import Turn

GREETING = "Hello."
ROLES = (SUPERVISOR, "observer")


class Rehearsal(Script):
    """Models that begin one dialog, and stay in it."""

    tool: str | None = None
    """The tool that begins the dialog; None if the supervisor answers itself."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return what a role says, whatever it hears."""
        if role == "observer":
            return "stay"
        return Call(self.tool, {"brief": GREETING}) if self.tool and role == SUPERVISOR else GREETING


async def warm_up(assistant: Assistant, languages: Sequence[str]) -> None:
    """Rehearse a talk with each dialog in each language, on a database of its own; no provider is asked.

    With an OpenAI client the types of its replies are built.
    """
    dialogs = assistant.speakers.dialogs
    script = Rehearsal()
    scripted = script.models([*ROLES, *dialogs])
    with TemporaryDirectory() as folder:
        async with open_memory(f"sqlite:///{Path(folder) / 'rehearsal.db'}") as memory:
            rehearsing = assistant.beside(memory, scripted)
            for lang in languages:
                script.tool = None
                await _talk(rehearsing, lang, lang)
                for name, dialog in dialogs.items():
                    script.tool = dialog.tool
                    await _talk(rehearsing, lang, f"{lang} {name}")
    if "agents.models.openai_chat" in sys.modules:
        from agents.models.openai_chat import build_types  # noqa: PLC0415  # loads the client

        build_types()


async def _talk(assistant: Assistant, lang: str, thread: str) -> None:
    """Say hello twice: the second time observers listen."""
    for _ in range(2):
        async for _ in assistant.play(Turn(thread=thread, text=GREETING, lang=lang)):
            pass
