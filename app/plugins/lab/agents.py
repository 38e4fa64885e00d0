"""Agents put together in the lab: private to their makers, with versions, shared as dialogs, and deleted whole."""

import difflib
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool

import observers
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import FINDING
from app.assistant import Assistant
from app.composition import check_tools, discover
from app.plugins.lab.agent_file import Agent, AgentFile, is_taken, tools_of, with_agent
from app.plugins.lab.folder import LabFolder, written
from app.plugins.lab.mocks import Mock
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.stage import staged
from app.settings import Settings
from app.yaml_file import validated
from prompts import languages

LONGEST_NAME = 40
MAKER = re.compile(r"[A-Za-z0-9_-]{1,40}")


class Workshop:
    """The agents of one maker. Raises UsageError: the maker's name cannot be that of a key."""

    def __init__(self, folder: LabFolder, maker: str) -> None:
        if not MAKER.fullmatch(maker):
            raise LabRefusal("maker_name", maker=maker[:80])
        self.maker = maker
        self._files = LabFolder(folder.root / "agents")
        self._own = f"private/{maker}"
        self._trials = folder.root / "trials" / maker

    def _past(self, name: str) -> str:
        """Return the folder of an agent's versions."""
        return f"versions/{self.maker}/{_named(name)}"

    def names(self) -> list[str]:
        """Return the names of the maker's agents."""
        return self._files.names(self._own)

    def shared(self) -> dict[str, AgentFile]:
        """Return the agents that everybody has, by name. Raises UsageError if a file is wrong."""
        return self._files.every("shared", AgentFile)

    def read(self, name: str, version: int = 0) -> AgentFile:
        """Return an agent, now or in an earlier version. Raises UsageError: there is none, or its file is wrong."""
        if version:
            return self._files.read(self._past(name), str(version), AgentFile)
        return self._files.read(self._own, _named(name), AgentFile)

    def save(self, name: str, agent: AgentFile) -> AgentFile:
        """Check an agent, keep it as its next version, and return it.

        Raises:
            UsageError: its name is not fit for a dialog, is reserved, or is taken by a dialog that is not this agent.
            ContractError: a tool, an observer or a rule of dialogs is broken.
        """
        if is_taken(_named(name), discover_unshared().dialogs):
            raise LabRefusal("name_taken", name=name)
        version = max(self.versions(name), default=0) + 1
        kept = agent.model_copy(update={"maker": self.maker, "version": version})
        check_tools(with_agent(discover_unshared(), name, dialog_of(name, kept)))
        self._files.write(self._own, name, kept)
        self._files.write(self._past(name), str(version), kept)
        return kept

    def versions(self, name: str) -> list[int]:
        """Return the numbers of an agent's versions, the newest first."""
        return sorted(map(int, self._files.names(self._past(name))), reverse=True)

    def changes(self, name: str, old: int, new: int) -> list[str]:
        """Return the differing lines of two versions, with `-` and `+`. Raises UsageError: there is no such version."""
        before, after = (written(self.read(name, version)).splitlines() for version in (old, new))
        return [*difflib.unified_diff(before, after, f"version {old}", f"version {new}", lineterm="", n=1)]

    def is_shared(self, name: str) -> bool:
        """Tell whether this agent of the maker's is shared with everybody."""
        agent = self.shared().get(_named(name))
        return agent is not None and agent.maker == self.maker

    def share(self, name: str) -> Path:
        """Make an agent a dialog for everybody, from the next start of a door on; return its file.

        Raises UsageError: there is no such agent, or somebody else shares one of this name.
        """
        if name in self.shared() and not self.is_shared(name):
            raise LabRefusal("shared_already", name=name, maker=self.shared()[name].maker or "-")
        return self._files.write("shared", name, self.read(name))

    def unshare(self, name: str) -> None:
        """Take an agent back from everybody. Raises UsageError: it is not shared, or is not the maker's."""
        if not self.is_shared(name):
            raise LabRefusal("not_shared", name=name, maker=self.maker)
        self._files.delete("shared", name)

    def delete(self, name: str) -> None:
        """Delete an agent with its versions, its trial talks and its shared file. Raises UsageError: there is none."""
        self.read(name)
        if self.is_shared(name):
            self.unshare(name)
        self._files.delete(self._own, name)
        for folder in (self._files.root / self._past(name), self._trials / name):
            shutil.rmtree(folder, ignore_errors=True)

    def trial(self, settings: Settings, name: str) -> AbstractAsyncContextManager[Assistant]:
        """Open the assistant with all dialogs and the present agent, shared or not; its talks outlive its versions.

        Raises:
            UsageError: there is no such agent.
            ConfigError, ContractError: something in it is wrong.
        """
        speakers, folder = with_agent(discover_unshared(), name, dialog_of(name, self.read(name))), self._trials / name
        folder.mkdir(parents=True, exist_ok=True)
        return staged(settings, speakers, folder=folder)


def discover_unshared() -> Speakers:
    """Return the supervisor and the dialogs that are not agents of the lab."""
    speakers = discover()[0]
    dialogs = {name: dialog for name, dialog in speakers.dialogs.items() if not isinstance(dialog, Agent)}
    return replace(speakers, dialogs=dialogs)


def available_tools() -> Mapping[str, Sequence[BaseTool]]:
    """Return the tools that an agent can be given, by the name of their speaker."""
    return {owner.name: [tool for tool in owner.tools if tool.name not in FINDING] for owner in discover_unshared()}


def dialog_of(name: str, agent: AgentFile) -> Agent:
    """Return an agent as a dialog. Raises ContractError: a tool or an observer is not there."""
    return agent.dialog(name, tools_of(discover()[0]), observers.discover(languages()))


def agent_of(form: Mapping[str, Any], mocks: Sequence[Mock]) -> AgentFile:
    """Return the agent that the fields of a form describe, with these mocks. Raises UsageError: one is wrong."""
    fields = {name: value for name, value in form.items() if name in AgentFile.model_fields}
    about = str(fields.get("description", ""))
    description = about if about.startswith("Used for ") else f"Used for {about}"
    # A form without this field has no ticked boxes.
    return validated(AgentFile, {"observers": (), **fields, "description": description, "mocks": mocks})


def _named(name: str) -> str:
    """Return a name that is fit for a dialog. Raises UsageError."""
    if not (name.isascii() and name.isidentifier() and name.islower() and len(name) <= LONGEST_NAME):
        raise LabRefusal("agent_name", most=LONGEST_NAME, name=name[:80])
    return name
