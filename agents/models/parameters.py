"""What an operator may say about how a role's model answers; what is left out has the provider's own value."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Self

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ConfigError

SPELLINGS: Mapping[str, Sequence[str]] = {
    "temperature": ("temperature",),
    "reasoning_effort": ("reasoning_effort", "reasoning"),
    "max_tokens": ("max_tokens", "num_predict"),
}
"""How LangChain's classes call the parameters that they take when they are made; the first one they know counts."""


class Parameters(BaseModel):
    """The parameters of a role's model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(default=None, ge=0, le=2)
    reasoning_effort: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    """The longest reply, in tokens."""
    parallel_tool_calls: bool | None = None
    images: bool | None = None
    """Whether the model sees pictures; left out, as LangChain's profile of it says."""

    def over(self, default: Self) -> Self:
        """Return these parameters, and the default's where nothing is said; `null` takes a default back."""
        return default.model_copy(update=self.model_dump(exclude_unset=True))

    def options(self, chat: BaseChatModel, name: str) -> dict[str, object]:
        """Return the parameters that are set, as the class of `chat` calls them when it is made.

        Raises:
            ConfigError: models of this class take no such parameter.
        """
        fields = type(chat).model_fields
        taken = {*fields, *(field.alias for field in fields.values())}
        options: dict[str, object] = {}
        for parameter, spellings in SPELLINGS.items():
            value = getattr(self, parameter)
            if value is not None:
                option = next((spelling for spelling in spellings if spelling in taken), None)
                options[_known(option, parameter, name)] = value
        if self.parallel_tool_calls is not None:
            takes = "parallel_tool_calls" in inspect.signature(type(chat).bind_tools).parameters
            _known("parallel_tool_calls" if takes else None, "parallel_tool_calls", name)
        return options


def _known(option: str | None, parameter: str, name: str) -> str:
    if option is None:
        raise ConfigError(f"LLM_PARAMETERS: {name} takes no {parameter}")
    return option
