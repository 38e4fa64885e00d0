"""Agents in YAML files: dialogs put together from the tools of other dialogs, mocks, prompts and parameters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from langchain_core.tools import BaseTool
from pydantic import AfterValidator, Field

import prompts
from agents.errors import ContractError
from agents.models.factory import Parameters
from agents.toolkit.speaker import Resume, Speakers
from app.extensions import plugin_names
from app.plugins.lab.mocks import Mock, mocked, stand_in
from app.plugins.lab.reasons import PHRASES
from app.yaml_file import NO_EXAMPLES, ByLanguage, Examples, FilePart, ToolName, read_files, text_in
from dialogs import Dialog, is_reserved
from prompts import FALLBACK, sentence

OBSERVERS = ("supervisor", "finished")
TUNABLE = frozenset({"temperature", "reasoning_effort", "max_tokens", "parallel_tool_calls"})
"""The parameters of a model's answers; all others belong to the operator's settings."""


def _tunable(parameters: Parameters) -> Parameters:
    if foreign := sorted(parameters.model_fields_set - TUNABLE):
        names = ", ".join(sorted(TUNABLE))
        raise ValueError(sentence(PHRASES, "settings_alone", FALLBACK, name=foreign[0], names=names))
    return parameters


Tuning = Annotated[Parameters, AfterValidator(_tunable)]
"""The model parameters for people who may not change the settings: no address, and nothing of its server."""


@dataclass(frozen=True, kw_only=True)
class Agent(Dialog):
    """A dialog from an agent's file."""


class AgentFile(FilePart):
    """An agent, in the form of its file."""

    description: Annotated[str, Field(pattern=r"^Used for \S", max_length=1_024)]
    """The agent's use; the supervisor and the observers read it."""
    prompt: ByLanguage = Field(min_length=1)
    """The agent's role, in each language or in one for all."""
    tools: Annotated[tuple[ToolName, ...], Field(max_length=64)] = ()
    """Tools of other dialogs, or of the supervisor."""
    mocks: tuple[Mock, ...] = ()
    """Results in place of those of its tools; mocks of other names are tools that do not exist."""
    observers: tuple[str, ...] = OBSERVERS
    examples: Examples = NO_EXAMPLES
    """Example messages of users who want the agent."""
    model: str = ""
    parameters: Tuning = Parameters()
    resume: Resume = "ask"
    maker: str = ""
    """The name of the agent's maker."""
    version: int = 1

    def dialog(self, name: str, tools: Mapping[str, BaseTool], observers: Collection[str]) -> Agent:
        """Return the agent as a dialog. Raises ContractError: it names a tool or an observer that does not exist."""
        mocks = {mock.tool: mock for mock in self.mocks}
        if unknown := sorted({*self.tools} - {*tools} - {*mocks}):
            raise ContractError(f"{name}: there is no tool {unknown[0]!r}")
        if unknown := sorted({*self.observers} - {*observers}):
            raise ContractError(
                f"{name}: there is no observer {unknown[0]!r}; there are: {', '.join(sorted(observers))}"
            )
        own = [
            mocked(tools[tool], mocks[tool]) if tool in mocks else tools[tool] for tool in self.tools if tool in tools
        ]
        return Agent(
            name=name,
            tool=f"ask_{name}",
            description=self.description,
            roles={lang: text_in(self.prompt, lang) for lang in self.prompt},
            tools=[*own, *(stand_in(mock) for mock in self.mocks if mock.tool not in tools)],
            observers=self.observers,
            examples=self.examples,
            model=self.model,
            parameters=self.parameters,
            resume=self.resume,
            version=self.version,
        )


def is_taken(name: str, dialogs: Collection[str]) -> bool:
    """Tell whether a name is taken: the agent would replace a dialog, a role or a plug-in of this name."""
    return name in dialogs or is_reserved(name) or name in plugin_names(prompts.EXTENSIONS)


def tools_of(speakers: Speakers) -> dict[str, BaseTool]:
    """Return the tools that an agent can be given, by name."""
    return {tool.name: tool for speaker in speakers for tool in speaker.tools}


def read_agent(path: Path, setting: str) -> AgentFile:
    """Return the agent of a file of a setting. Raises ConfigError, with the file and the field: something is wrong."""
    [(_, agent)] = read_files(setting, path, AgentFile)
    return agent


def shared_agent(path: Path, speakers: Speakers, observers: Collection[str]) -> Agent:
    """Return a shared agent as a dialog, by the name of its file.

    Raises:
        ConfigError: the file is wrong.
        ContractError: the name is taken or unfit, or the file names a tool or an observer that does not exist.
    """
    if is_taken(path.stem, speakers.dialogs) or not path.stem.isidentifier():
        raise ContractError(f"{path}: {path.stem!r} cannot be the name of an agent: rename the file")
    return read_agent(path, "LAB_FOLDER").dialog(path.stem, tools_of(speakers), observers)


def with_agent(speakers: Speakers, name: str, agent: Agent) -> Speakers:
    """Return the speakers with an agent among the dialogs."""
    return replace(speakers, dialogs={**speakers.dialogs, name: agent.named(name)})
