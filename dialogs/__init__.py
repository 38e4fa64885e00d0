"""Dialogs: specialists that take the conversation over. One file defines one `dialog`.

The file name is the dialog's name; its prompt is `prompts/<lang>/<name>/prompt.md`. A dialog that is an agent graph
(`agent=create_agent(…)`) has its prompt in the graph.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from langchain_core.tools import BaseTool

from agents.discovery import load_each
from agents.errors import ContractError
from agents.state.message_notes import Forwarding
from agents.state.speaker import Resume, Speaker
from prompts import variables


@dataclass(frozen=True, kw_only=True)
class Dialog(Speaker):
    """A specialist. The fields of `Speaker` describe it; the file name becomes its `name`."""

    name: str = ""
    tool: str = field()
    description: str = field()
    observers: Sequence[str] = ("supervisor", "finished")

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9_]{1,63}", self.tool):
            raise ContractError(f"Dialog.tool must be a plain name like 'return_an_order', found {self.tool!r}")
        if not self.description.startswith("Used for "):
            raise ContractError(f"Dialog.description must begin with 'Used for ', found {self.description!r}")
        if self.resume not in get_args(Resume):
            raise ContractError(f"Dialog.resume must be one of {get_args(Resume)}, found {self.resume!r}")
        if self.forwarding not in (None, *get_args(Forwarding)):
            raise ContractError(f"Dialog.forwarding must be one of {get_args(Forwarding)}, found {self.forwarding!r}")
        others = [tool for tool in self.tools if not isinstance(tool, BaseTool)]
        if others:
            raise ContractError(f"Dialog.tools must be tools (`@tool` above the function), found {others[0]!r}")
        fields = self.form.model_fields if self.form else {}
        required = [name for name, info in fields.items() if info.is_required()]
        if required:
            raise ContractError(f"fields of {self.form!r} need defaults for 'not known yet': {', '.join(required)}")

    def __str__(self) -> str:
        """Return what a person wants to know at a glance."""
        form = f", fills {', '.join(self.form.model_fields)}" if self.form else ""
        tools = ", ".join(tool.name for tool in self.tools) or "no tools"
        return f"{self.tool} (v{self.version}): {self.description} [{tools}{form}; resume: {self.resume}]"

    def named(self, name: str) -> Speaker:
        """Return the dialog as a speaker of that name."""
        return replace(self, name=name)


def discover(languages: Collection[str], observers: Collection[str]) -> dict[str, Dialog]:
    """Load every dialog of this folder by file name.

    Raises:
        ContractError: a file defines no `dialog = Dialog(...)`, or the dialog names an unknown observer.
        PromptError: a dialog has no prompt; one that is an agent needs none.
    """
    dialogs = load_each(__name__, __path__, Dialog)
    for name, dialog in dialogs.items():
        unknown = sorted(set(dialog.observers) - set(observers))
        if unknown:
            raise ContractError(f"dialogs/{name}.py names observers that do not exist: {', '.join(unknown)}")
        if dialog.agent is None:
            for lang in languages:
                variables(f"{name}/prompt", lang)
    return dialogs
