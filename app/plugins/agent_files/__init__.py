"""Agents in YAML files as dialogs for everybody; the lab puts them together (docs/lab.md)."""

from collections.abc import Collection
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from agents.errors import ContractError
from agents.plugin import Plugin
from agents.toolkit.speaker import Speakers
from app.agent_file import SHARED, Agent, is_taken, read_agent, tools_of


class AgentFilesSettings(BaseSettings):
    """Where the files of agents stand."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore")

    lab_folder: Path = Path("var/lab")


def shared_agents(settings: AgentFilesSettings, speakers: Speakers, observers: Collection[str]) -> dict[str, Agent]:
    """Return the shared agents of LAB_FOLDER, by the names of their files.

    Raises:
        ConfigError: a file is wrong.
        ContractError: its name is taken or unfit, or it names a tool or an observer that there is not.
    """
    agents: dict[str, Agent] = {}
    for path in sorted((settings.lab_folder / SHARED).glob("*.yaml")):
        if is_taken(path.stem, speakers.dialogs) or not path.stem.isidentifier():
            raise ContractError(f"{path}: {path.stem!r} cannot be the name of an agent: rename the file")
        agents[path.stem] = read_agent(path).dialog(path.stem, tools_of(speakers), observers)
    return agents


plugin = Plugin(settings=AgentFilesSettings, dialogs=shared_agents)
