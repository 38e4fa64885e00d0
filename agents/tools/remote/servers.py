"""The file of MCP servers: how each is reached, who gets its tools, and what they do not say of themselves."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from agents.tools.remote.guard import policy_of
from agents.tools.remote.parts import NO_EXAMPLES, NO_TEXTS, ByLanguage, Env, Examples, Part, ToolName, Trusted
from agents.tools.traits import Effect


class ServerTool(Part):
    """What is to be known of one tool beside what its server says."""

    name: ToolName | None = None
    """What it is called here; left out: as the server calls it."""
    description: ByLanguage = NO_TEXTS
    """Left out: the server's own words."""
    examples: Examples = NO_EXAMPLES
    effect: Effect = "write"
    """A server's own claim to only read is not relied upon."""
    key: tuple[str, ...] = ()
    permission: str = ""
    opaque: Mapping[str, str] = {}
    """By the name of a field or parameter, the kind of identifier it holds."""
    trusted: Mapping[str, Trusted] = {}
    """Parameters that the system sets and no model sees."""

    @model_validator(mode="after")
    def _fits(self) -> "ServerTool":
        if self.key and self.effect != "write":
            raise ValueError("only a write has a `key`")
        if set(self.key) & set(self.trusted):
            raise ValueError("`key` names what the model does not give")
        return self


class Server(Part):
    """One server: a command that speaks over its standard streams, or an address (streamable HTTP)."""

    speaker: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str | Env] = {}
    """What the process sees of the environment, beside PATH, HOME and the like."""
    cwd: str | None = None
    """Where the command is run; left out: here."""
    url: str = ""
    headers: Mapping[str, str | Env] = {}
    internal: bool = False
    timeout: Annotated[float, Field(gt=0, le=50)] = 30
    """Seconds for one call, and for the server to start."""
    tools: Annotated[Mapping[str, ServerTool | None], Field(min_length=1)]
    """The tools that are taken; whatever else the server offers is left."""

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "Server":
        if bool(self.command) == bool(self.url):
            raise ValueError("has either a `command` or a `url`")
        if (self.command and (self.headers or self.internal)) or (self.url and (self.args or self.env or self.cwd)):
            raise ValueError("`args`, `env` and `cwd` belong to a `command`, `headers` and `internal` to a `url`")
        if self.url:
            policy_of(self.url, internal=self.internal)
        return self


class McpFile(Part):
    """A whole file."""

    servers: Annotated[Mapping[ToolName, Server], Field(min_length=1)]
