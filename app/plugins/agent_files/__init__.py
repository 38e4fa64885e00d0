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
"""The folder of the shared agents, within the lab's folder: they are dialogs for everybody."""


class AgentFilesSettings(BaseSettings):
    """The folder of the agents' files."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore")

    lab_folder: Path = Path("var/lab")


def shared_agents(settings: AgentFilesSettings, speakers: Speakers, observers: Collection[str]) -> dict[str, "Agent"]:
    """Return the shared agents of LAB_FOLDER, by the names of their files.

    Raises:
        ConfigError: a file is wrong.
        ContractError: an agent's name is taken or unfit, or its file names a tool or an observer that does not exist.
    """
    agents: dict[str, Agent] = {}
    for path in sorted((settings.lab_folder / SHARED).glob("*.yaml")):
        # Most installations have no such file.
        reader: Any = import_module("app.agent_file")
        if reader.is_taken(path.stem, speakers.dialogs) or not path.stem.isidentifier():
            raise ContractError(f"{path}: {path.stem!r} cannot be the name of an agent: rename the file")
        agent = reader.read_agent(path, "LAB_FOLDER")
        agents[path.stem] = agent.dialog(path.stem, reader.tools_of(speakers), observers)
    return agents


plugin = Plugin(settings=AgentFilesSettings, dialogs=shared_agents)
