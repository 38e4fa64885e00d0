"""Agents in YAML files as dialogs for everybody; the lab puts them together (docs/lab.md)."""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_settings import BaseSettings, SettingsConfigDict

from agents.errors import ContractError
from agents.plugin import Plugin
from agents.toolkit.speaker import Speakers

if TYPE_CHECKING:
    from app.agent_file import Agent

SHARED = Path("agents") / "shared"
"""Where, in the lab's folder, the agents stand that are dialogs for everybody."""


class AgentFilesSettings(BaseSettings):
    """Where the files of agents stand."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore")

    lab_folder: Path = Path("var/lab")


def shared_agents(settings: AgentFilesSettings, speakers: Speakers, observers: Collection[str]) -> dict[str, "Agent"]:
    """Return the shared agents of LAB_FOLDER, by the names of their files.

    Raises:
        ConfigError: a file is wrong.
        ContractError: its name is taken or unfit, or it names a tool or an observer that there is not.
    """
    agents: dict[str, Agent] = {}
    for path in sorted((settings.lab_folder / SHARED).glob("*.yaml")):
        # Most installations have no such file.
        reader: Any = import_module("app.agent_file")
        if reader.is_taken(path.stem, speakers.dialogs) or not path.stem.isidentifier():
            raise ContractError(f"{path}: {path.stem!r} cannot be the name of an agent: rename the file")
        agents[path.stem] = reader.read_agent(path).dialog(path.stem, reader.tools_of(speakers), observers)
    return agents


plugin = Plugin(settings=AgentFilesSettings, dialogs=shared_agents)
