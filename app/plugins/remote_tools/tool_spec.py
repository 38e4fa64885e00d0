"""The description of a tool in a file, for HTTP services and MCP servers: parameters, answer, and its use.

JMESPath reads an answer, and templates with plain `{name}`s show it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import GenericAlias
from typing import Annotated, Any, Literal, Self

import jmespath
from jmespath.exceptions import JMESPathError
from langchain_core.tools import BaseTool
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, TypeAdapter, create_model, model_validator
from pydantic_core import SchemaError

from agents.language.identifiers import MARK, Opaque
from agents.toolkit.context import Runtime
from agents.toolkit.traits import LONGEST_KEY_LIFE, Confirm, Effect, Kind, Permission
from app.yaml_file import NO_EXAMPLES, NO_TEXTS, ByLanguage, Examples, FilePart, ToolName

Trusted = Literal["user", "device", "lang", "thread"]  # The values of the turn that no model sees or sets.
PlainType = Literal["string", "integer", "number", "boolean"]
PLAIN: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
HEADER_NAME = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
FIXED_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "upgrade", "accept-encoding"}
"""Headers that decide on the host of a request or its reading."""


def trusted_values(runtime: Runtime) -> dict[Trusted, str]:
    """Return the system's values of the turn."""
    context = runtime.context
    return {"user": context.user, "thread": context.thread, "device": context.device, "lang": runtime.state["lang"]}


@dataclass(frozen=True)
class OfferedTool:
    """A tool for a speaker, with its place in the file."""

    speaker: str
    tool: BaseTool
    where: str
    fingerprint: str = ""  # For an MCP server's tool: the mark that changes when the server describes it differently.


OF_MODELS = ("opaque", "enum", "default", "min", "max", "pattern")
"""The keys of a parameter that hold a model to something."""


class ParameterSpec(FilePart):
    """One value of a call; the model gives it, unless it is `trusted` or `fixed`."""

    description: str = ""
    label: ByLanguage = NO_TEXTS  # The user's word for it, in the question before a call.
    opaque: str = ""  # The kind of identifier, which the model sees as a small number.
    trusted: Trusted | None = None
    fixed: object = None

    @model_validator(mode="after")
    def _is_given_once(self) -> Self:
        given = self.model_fields_set
        if {"trusted", "fixed"} <= given:
            raise ValueError("has either `trusted` or `fixed`")
        if "fixed" in given and self.fixed is None:
            raise ValueError("`fixed` needs a value")
        if idle := [] if self.is_the_models else [name for name in OF_MODELS if name in given]:
            raise ValueError(f"no model gives this value: leave {', '.join(idle)} out")
        return self

    @property
    def is_the_models(self) -> bool:
        """Whether the model gives the value."""
        return self.trusted is None and self.fixed is None


class HttpParameter(ParameterSpec):
    """One value of a request."""

    in_: Annotated[Literal["path", "query", "header", "body"], Field(alias="in")]
    name: str = ""  # The service's name for it; without one, the name here. Dots nest in a body.
    type: Literal["string", "integer", "number", "boolean", "array", "object"] = "string"
    items: PlainType = "string"
    # YAML reads a bare yes or no as true or false, which are no values here.
    enum: Annotated[list[str | Annotated[int, Strict()] | Annotated[float, Strict()]], Field(min_length=1)] | None = (
        None
    )
    required: bool = True
    default: object = None
    min: float | None = None  # The least value of a number, the least length of a text or a list.
    max: float | None = None
    pattern: str | None = None
    slashes: bool = False  # Whether slashes may split the value into several parts of the path.

    @model_validator(mode="after")
    def _has_a_place(self) -> "HttpParameter":
        if self.in_ in ("path", "header") and self.type in ("array", "object"):
            raise ValueError(f"an {self.type} has no place in a {self.in_}")
        if self.in_ == "query" and self.type == "object":
            raise ValueError("an object has no place in a query")
        parts = self.fixed if self.in_ == "query" and isinstance(self.fixed, list) else [self.fixed]
        if self.in_ != "body" and any(isinstance(part, dict | list) for part in parts):
            raise ValueError(f"a `fixed` list or object has no place in a {self.in_}")
        if self.in_ == "path" and "/" in str(self.fixed) and not self.slashes:
            raise ValueError("a `fixed` value with a slash needs `slashes: true`")
        if self.in_ == "path" and not self.required:
            raise ValueError("what stands in the path is required")
        if self.slashes and self.in_ != "path":
            raise ValueError("`slashes` are for what stands in the path")
        is_name = re.fullmatch(HEADER_NAME, self.name) and self.name.lower() not in FIXED_HEADERS
        if self.in_ == "header" and not is_name:
            raise ValueError("needs the `name` of a header that may be set")
        return self

    @model_validator(mode="after")
    def _can_be_checked(self) -> "HttpParameter":
        if self.opaque and self.type != "string":
            raise ValueError("only a string is opaque")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is above `max`")
        try:
            checked = TypeAdapter(taken_as(self))
        except (SchemaError, TypeError) as wrong:
            raise ValueError(f"contradicts itself: {' '.join(str(wrong).split())[:200]}") from None
        for value in (self.default, self.fixed if "type" in self.model_fields_set else None):
            if value is not None:
                checked.validate_python(value)
        return self


class FormField(FilePart):
    """One field of a breaker's form."""

    type: PlainType = "string"
    description: str = ""
    required: bool = True


def taken_as(parameter: HttpParameter) -> Any:
    """Return the type that checks a parameter's value."""
    if parameter.enum:
        return Literal[tuple(parameter.enum)]
    sized = parameter.type in ("string", "array")
    low, high = ("min_length", "max_length") if sized else ("ge", "le")
    bounds = {name: value for name, value in ((low, parameter.min), (high, parameter.max)) if value is not None}
    rules: dict[str, Any] = {name: int(value) if sized else value for name, value in bounds.items()}
    if parameter.pattern is not None:
        rules["pattern"] = parameter.pattern
    kinds: dict[str, Any] = {**PLAIN, "array": GenericAlias(list, PLAIN[parameter.items]), "object": dict[str, Any]}
    kind = kinds[parameter.type]
    marks = [Opaque(parameter.opaque)] if parameter.opaque else []
    return Annotated[kind, Field(**rules), *marks] if rules or marks else kind


def arguments(name: str, parameters: Mapping[str, HttpParameter]) -> type[BaseModel]:
    """Return the pydantic model of the language model's arguments; the system sets the runtime beside them."""
    fields = {
        key: _field(taken_as(parameter), parameter.description, parameter.required, parameter.default)
        for key, parameter in parameters.items()
        if parameter.is_the_models
    }
    config = ConfigDict(arbitrary_types_allowed=True)
    return create_model(name, __config__=config, runtime=(Runtime, ...), **fields)


def form_of(name: str, specs: Mapping[str, FormField]) -> type[BaseModel]:
    """Return the pydantic model of a form."""
    return create_model(
        name, **{key: _field(PLAIN[field.type], field.description, field.required) for key, field in specs.items()}
    )


def _field(kind: Any, description: str, required: bool, default: object = None) -> Any:
    if default is not None:
        return kind, Field(default, description=description or None)
    if required:
        return kind, Field(description=description or None)
    return kind | None, Field(None, description=description or None)


Template = str  # A text in which `{name}` or `{name.part}` stands for a value of the object.


def _expression(text: str) -> str:
    try:
        jmespath.compile(text)
    except (JMESPathError, RecursionError) as broken:
        raise ValueError(f"not a JMESPath expression: {str(broken).splitlines()[0]}") from None
    return text


def _marked(schema: object) -> object:
    """Return a schema with the mark of opaque identifiers in place of `opaque`."""
    if isinstance(schema, Mapping):
        opaque = isinstance(schema.get("opaque"), str) and "type" in schema
        return {MARK if opaque and name == "opaque" else name: _marked(value) for name, value in schema.items()}
    return [_marked(value) for value in schema] if isinstance(schema, list) else schema


Path = Annotated[str, AfterValidator(_expression)]  # A JMESPath expression: `orders[].{id: id, name: title}`.


class Result(FilePart):
    """The result for the model: the value of `object` in the answer, else `message`."""

    object: Path = "@"
    schema_: Annotated[Mapping[str, Any], AfterValidator(_marked)] | None = Field(default=None, alias="schema")
    """JSON schema of the object; `opaque: order` beside a type marks an identifier."""
    message: ByLanguage = NO_TEXTS  # The text in place of an object.


class Cards(FilePart):
    """A card list; `each` finds its entries in the object."""

    kind: Literal["cards"]
    title: ByLanguage = NO_TEXTS
    each: Path = "@"
    label: Template
    detail: Template = ""
    url: Template = ""
    id: Template = ""


class Column(FilePart):
    """One column of a table."""

    title: ByLanguage
    cell: Template


class TableView(FilePart):
    """A table; `each` finds its rows in the object."""

    kind: Literal["table"]
    title: ByLanguage = NO_TEXTS
    each: Path = "@"
    columns: Annotated[list[Column], Field(min_length=1)]


class NoticeView(FilePart):
    """A remark."""

    kind: Literal["notice"]
    message: ByLanguage
    level: Literal["info", "warning", "error"] = "info"


class LinkView(FilePart):
    """A page to open."""

    kind: Literal["link"]
    title: ByLanguage = NO_TEXTS
    url: Template


class PlayerView(FilePart):
    """A title that a player plays."""

    kind: Literal["player"]
    title: ByLanguage
    state: Template
    position: Template = ""
    duration: Template = ""
    volume: Template = ""


class DocumentView(FilePart):
    """A text to keep."""

    kind: Literal["document"]
    title: ByLanguage
    content: Template


ViewSpec = Annotated[Cards | TableView | NoticeView | LinkView | PlayerView | DocumentView, Field(discriminator="kind")]


class Options(FilePart):
    """The options of a selector: `each` finds the candidates in the object; the model gets the chosen one."""

    ask: ByLanguage
    each: Path = "@"
    label: Template
    detail: Template = ""
    id: Template = ""
    facts: Mapping[str, Path] = {}  # The facts by which people choose a candidate: price, rating, date.


class Page(FilePart):
    """The demand of a breaker: a page to open (`url`), or a form to fill in (`form` of the tool)."""

    ask: ByLanguage
    url: Template = ""
    back: Template = ""  # The last address of the page, with its parameters: `https://shop.example/end?code=`.


class Errors(FilePart):
    """The texts of a refusal: `message` finds one in the service's answer; `notice` is for the user."""

    message: Path = "message || error.message || error || detail"
    notice: ByLanguage = NO_TEXTS


def _is_bounded(span: Mapping[str, float]) -> Mapping[str, float]:
    if not timedelta() < timedelta(**span) <= LONGEST_KEY_LIFE:
        raise ValueError(f"is a time of up to {LONGEST_KEY_LIFE.days} days")
    return span


Unit = Annotated[str, Field(pattern="^(minutes|hours|days)$")]
Span = Annotated[Mapping[Unit, Annotated[float, Field(ge=0)]], AfterValidator(_is_bounded)]
"""A length of time: `{minutes: 10}`, `{days: 30}`."""


class ToolSpec(FilePart):
    """One tool: its texts for the model, its parameters, and the use of the answer."""

    description: ByLanguage = NO_TEXTS
    examples: Examples = NO_EXAMPLES
    parameters: Mapping[str, ParameterSpec] = {}
    kind: Kind = "general"
    effect: Effect | None = None
    key: tuple[str, ...] = ()
    again_after: Span | None = None  # The time for which the same key means the same write; without a value, a day.
    permission: Permission = ""
    confirm: Confirm | None = None
    """The condition for a question before a call; left out: before a write or a sending, after text from outside."""
    title: ByLanguage = NO_TEXTS  # The call's purpose, in the question to the user.
    foreign: bool | None = None
    """Whether answers may hold text that others wrote; left out: as for its service or server."""
    egress: bool | None = None  # Whether a read carries data out; without a value, if the model is free in an argument.
    result: Result = Result()
    view: ViewSpec | None = None
    options: Options | None = None
    page: Page | None = None
    form: Mapping[ToolName, FormField] = {}
    errors: Errors = Errors()

    @property
    def writes(self) -> bool:
        """Whether a call changes something: always, unless the file says that it only reads."""
        return self.effect != "read"

    @property
    def can_be_narrowed(self) -> bool:
        """Whether the model gives an argument, so that it can ask for fewer options."""
        return any(parameter.is_the_models for parameter in self.parameters.values())

    @property
    def hidden(self) -> Mapping[str, ParameterSpec]:
        """The system's parameters, by name; no model sees them."""
        return {name: spec for name, spec in self.parameters.items() if not spec.is_the_models}

    def set_values(self, runtime: Runtime) -> dict[str, object]:
        """Return the values of the hidden parameters, by name."""
        trusted = trusted_values(runtime)
        return {name: trusted[spec.trusted] if spec.trusted else spec.fixed for name, spec in self.hidden.items()}

    @model_validator(mode="after")
    def _kind_fits(self) -> "ToolSpec":
        if self.key and not self.writes:
            raise ValueError("only a write has a `key`")
        if taken := sorted(self.hidden.keys() & set(self.key)):
            raise ValueError(f"`key` names what the model does not give: {', '.join(taken)}")
        if self.again_after and not self.key:
            raise ValueError("only a write with a `key` has `again_after`")
        if (self.kind == "selector") != (self.options is not None):
            raise ValueError("a selector has `options`, and nothing else has")
        if (self.kind == "breaker") != (self.page is not None):
            raise ValueError("a breaker has a `page`, and nothing else has")
        if bool(self.form) and self.page is None:
            raise ValueError("only a breaker has a `form`")
        if self.page is not None and bool(self.page.url) == bool(self.form):
            raise ValueError("a breaker has either the `url` of its `page` or a `form`")
        return self
