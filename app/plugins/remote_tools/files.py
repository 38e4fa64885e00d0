"""The files of remote tools: HTTP services with their tools, and MCP servers.

Both describe addresses, secrets and tools (`tool_spec`) in the same words.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import parse_qs

from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from agents.sources.web.ssrf import policy_of
from app.plugins.remote_tools.secret import Env
from app.plugins.remote_tools.tool_spec import FIXED_HEADERS, HEADER_NAME, HttpParameter, Result, ToolSpec, Trusted
from app.yaml_file import ByLanguage, FilePart, ToolName

RESERVED = {"runtime", "config", "callbacks", "run_manager", "self", *dir(BaseModel)}
PLACEHOLDER = re.compile(r"\{(\w+)\}")
HeaderName = Annotated[str, Field(pattern=HEADER_NAME)]
HeaderText = Annotated[str, Field(pattern=r"^[ -~]*$")]
SET_BY_US = ("Accept", "Content-Type", "Idempotency-Key")
RETRIES = 2
OWN = "@"  # The default path: the whole of a server's result is read.


class FromContext(FilePart):
    """A header with a value of the turn."""

    trusted: Trusted


class Remote(FilePart):
    """The remote side of calls: a service or a server."""

    url: str = ""
    internal: bool = False  # Whether it may be in a private network or on this machine.
    foreign: bool = True  # Whether its answers may hold text that others wrote.


class RemoteService(Remote):
    """One service: its address, its headers and its limits."""

    url: str
    headers: Mapping[HeaderName, HeaderText | Env | FromContext] = {}
    timeout: Annotated[float, Field(gt=0, le=50)] = 10  # Seconds for one try.
    redirects: Annotated[int, Field(ge=0, le=3)] = 0
    max_bytes: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000_000

    @field_validator("headers")
    @classmethod
    def _may_be_set(cls, headers: Mapping[str, object]) -> Mapping[str, object]:
        if taken := sorted(name for name in headers if name.lower() in FIXED_HEADERS):
            raise ValueError(f"not to be set: {', '.join(taken)}")
        _once("header", [name.lower() for name in headers])
        return headers

    @model_validator(mode="after")
    def _may_be_reached(self) -> "RemoteService":
        if any(sign in self.url for sign in "?#{}\\"):
            raise ValueError("`url` ends before any ?, # or placeholder; those belong in a tool's `path`")
        policy_of(self.url, internal=self.internal)
        return self


def _once(place: str, names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the {place} has {', '.join(twice)} twice")


def _rooted(path: str) -> str:
    if not path.startswith("/") or path.startswith("//") or "#" in path or "\\" in path:
        raise ValueError("begins with one / and has no # or \\")
    if any(part in (".", "..") for part in path.partition("?")[0].split("/")):
        raise ValueError("has no . or .. in it")
    return path


class HttpTool(ToolSpec):
    """One tool and its request; without an `effect`, a GET reads and other methods write."""

    name: ToolName
    speaker: str
    description: ByLanguage
    service: str = ""  # The name of its service; optional where the file has one only.
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: Annotated[str, AfterValidator(_rooted)]
    parameters: Mapping[str, HttpParameter] = {}
    retries: Annotated[int, Field(ge=0, le=5)] | None = None

    @property
    def writes(self) -> bool:
        """Whether a call changes something."""
        return (self.effect or ("read" if self.method == "GET" else "write")) == "write"

    @property
    def tries(self) -> int:
        """The number of tries: one for a write, unless its key makes a repetition harmless."""
        if self.writes and not self.key:
            return 1
        return 1 + (RETRIES if self.retries is None else self.retries)

    @field_validator("parameters")
    @classmethod
    def _can_be_called_so(cls, parameters: Mapping[str, HttpParameter]) -> Mapping[str, HttpParameter]:
        for name in parameters:
            if name in RESERVED or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) or name.startswith("model_"):
                raise ValueError(f"cannot be called {name!r}: choose another word and put this one into `name`")
        return parameters

    @model_validator(mode="after")
    def _request_fits(self) -> "HttpTool":
        placeholders = PLACEHOLDER.findall(self.path)
        in_path = [name for name, parameter in self.parameters.items() if parameter.in_ == "path"]
        if sorted(set(placeholders)) != sorted(in_path) or re.search(r"[{}]", PLACEHOLDER.sub("", self.path)):
            raise ValueError("the placeholders of `path` and the parameters with `in: path` are not the same")
        if unknown := sorted(set(self.key) - set(self.parameters)):
            raise ValueError(f"`key` names what the model does not give: {', '.join(unknown)}")
        if self.retries and self.writes and not self.key:
            raise ValueError("a write without a `key` is tried once: leave `retries` out")
        return self

    @model_validator(mode="after")
    def _places_differ(self) -> "HttpTool":
        """Refuse two values for one place: one of them would silently replace the other."""
        names: dict[str, list[str]] = {"query": [], "header": [], "body": []}
        for key, parameter in self.parameters.items():
            if parameter.in_ != "path":
                names[parameter.in_].append(parameter.name or key)
        _once("query", [*names["query"], *parse_qs(self.path.partition("?")[2], keep_blank_values=True)])
        _once("header", [name.lower() for name in names["header"]])
        _once("body", names["body"])
        for name in names["body"]:
            if not all(name.split(".")):
                raise ValueError(f"the body cannot have {name!r}: a dot nests, and stands between two names")
            if inside := next((other for other in names["body"] if other.startswith(f"{name}.")), None):
                raise ValueError(f"{name!r} and {inside!r} have the same place in the body")
        return self


class ToolFile(FilePart):
    """The content of a file of tools; one in the form of another application is refused."""

    @model_validator(mode="before")
    @classmethod
    def _has_our_form(cls, content: object) -> object:
        if isinstance(content, Mapping):
            own, there = list(cls.model_fields), list(content)
            if set(own) - set(there) and set(there) - set(own):
                raise ValueError(
                    f"has {there!r:.200} where {own} are read, in the form of docs/remote-tools.md: "
                    "neither an OpenAPI description nor the `mcpServers` of another client is read"
                )
        return content


class HttpFile(ToolFile):
    """The content of a file of HTTP tools."""

    services: Annotated[Mapping[ToolName, RemoteService], Field(min_length=1)]
    tools: Annotated[list[HttpTool], Field(min_length=1)]

    @model_validator(mode="after")
    def _have_services(self) -> "HttpFile":
        for tool in self.tools:
            if tool.service not in self.services if tool.service else len(self.services) > 1:
                raise ValueError(f"tools.{tool.name}: `service` is one of {', '.join(self.services)}")
            own = {name.lower() for name in (*self.services[self.service_of(tool)].headers, *SET_BY_US)}
            headers = {parameter.name.lower() for parameter in tool.parameters.values() if parameter.in_ == "header"}
            if taken := sorted(own & headers):
                raise ValueError(f"tools.{tool.name}: the system sets the header {', '.join(taken)}: leave it out")
        return self

    def service_of(self, tool: HttpTool) -> str:
        """Return the name of the service of a tool."""
        return tool.service or next(iter(self.services))


class ServerResult(Result):
    """The result for the model, as of a service; `opaque` marks fields where the schema is the server's own."""

    opaque: Mapping[str, str] = {}  # The kind of identifier in each field, by the field's name.

    @model_validator(mode="after")
    def _marks_its_own(self) -> "ServerResult":
        if self.opaque and (self.schema_ is not None or self.object != OWN):
            raise ValueError("with an `object` or a `schema` of its own, `opaque` stands in the `schema`")
        return self


class ServerTool(ToolSpec):
    """One tool; a server's own claim to only read does not count, so a tool without an `effect` writes."""

    name: ToolName | None = None  # Its name here; without one, the server's name.
    result: ServerResult = ServerResult()

    @property
    def can_be_narrowed(self) -> bool:
        """Whether the model may give an argument: always, since only the server knows its arguments."""
        return True


class ServerSpec(Remote):
    """One server: a command that speaks over its standard streams, or an address (streamable HTTP)."""

    speaker: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str | Env] = {}  # Variables for the process, beside PATH, HOME and the like.
    cwd: str | None = None  # The folder where the command is run; without one, the present folder.
    headers: Mapping[HeaderName, HeaderText | Env] = {}
    timeout: Annotated[float, Field(gt=0, le=50)] = 30  # Seconds for one call, and for the server to start.
    tools: Annotated[Mapping[str, ServerTool | None], Field(min_length=1)]
    """The tools to use; the server's other tools are left out."""

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "ServerSpec":
        if bool(self.command) == bool(self.url):
            raise ValueError("has either a `command` or a `url`")
        if (self.command and (self.headers or self.internal)) or (self.url and (self.args or self.env or self.cwd)):
            raise ValueError("`args`, `env` and `cwd` belong to a `command`, `headers` and `internal` to a `url`")
        if self.url:
            policy_of(self.url, internal=self.internal)
        return self


class McpFile(ToolFile):
    """The content of a file of MCP servers."""

    servers: Annotated[Mapping[ToolName, ServerSpec], Field(min_length=1)]
