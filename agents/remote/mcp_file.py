"""The file of MCP servers: the address of each, the speaker of its tools, and the texts of the tools."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from agents.remote.tool_spec import Result, ToolSpec
from agents.remote.yaml_file import Env, Part, ToolName
from agents.sources.web.ssrf import policy_of

OWN = "@"
"""What is read of a result unless a file says otherwise: all of it."""


class ServerResult(Result):
    """What the model reads, as of a service; `opaque` marks fields where the schema is the server's own."""

    opaque: Mapping[str, str] = {}
    """By the name of a field, the kind of identifier it holds."""

    @model_validator(mode="after")
    def _marks_its_own(self) -> "ServerResult":
        if self.opaque and (self.schema_ is not None or self.object != OWN):
            raise ValueError("with an `object` or a `schema` of its own, `opaque` stands in the `schema`")
        return self


class ServerTool(ToolSpec):
    """One tool; a server's own claim to only read is not relied upon, so without an `effect` it writes."""

    name: ToolName | None = None
    """What it is called here; left out: as the server calls it."""
    result: ServerResult = ServerResult()

    @property
    def can_be_narrowed(self) -> bool:
        """Whether the model may give an argument; which ones there are its server knows."""
        return True


class ServerSpec(Part):
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
    foreign: bool = True
    """Whether its answers may hold text that others wrote."""
    timeout: Annotated[float, Field(gt=0, le=50)] = 30
    """Seconds for one call, and for the server to start."""
    tools: Annotated[Mapping[str, ServerTool | None], Field(min_length=1)]
    """The tools that are taken; whatever else the server offers is left."""

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "ServerSpec":
        if bool(self.command) == bool(self.url):
            raise ValueError("has either a `command` or a `url`")
        if (self.command and (self.headers or self.internal)) or (self.url and (self.args or self.env or self.cwd)):
            raise ValueError("`args`, `env` and `cwd` belong to a `command`, `headers` and `internal` to a `url`")
        if self.url:
            policy_of(self.url, internal=self.internal)
        return self


class McpFile(Part):
    """The content of a file."""

    servers: Annotated[Mapping[ToolName, ServerSpec], Field(min_length=1)]
