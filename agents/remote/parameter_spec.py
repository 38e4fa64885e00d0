"""The parameters of a remote tool, and the pydantic model that checks the arguments."""

from collections.abc import Mapping
from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model, model_validator
from pydantic_core import SchemaError

from agents.language.identifiers import Opaque
from agents.remote.yaml_file import NO_TEXTS, ByLanguage, Part, Trusted
from agents.toolkit.runtime import Runtime

PLAIN: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
FIXED_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "upgrade", "accept-encoding"}
"""Headers that decide where a request goes or how it is read."""


class ParameterSpec(Part):
    """One value of a call; the model gives it, unless it is `trusted` or `fixed`."""

    description: str = ""
    label: ByLanguage = NO_TEXTS
    """What the user calls it, who is asked before a call."""
    opaque: str = ""
    """The kind of identifier, which the model sees as a small number."""
    trusted: Trusted | None = None
    fixed: object = None

    @property
    def is_the_models(self) -> bool:
        """Whether the model gives it."""
        return self.trusted is None and self.fixed is None

    @model_validator(mode="after")
    def _is_set_once(self) -> "ParameterSpec":
        if self.trusted is not None and self.fixed is not None:
            raise ValueError("is trusted or fixed, not both")
        return self


class HttpParameter(ParameterSpec):
    """One value of a request."""

    in_: Annotated[Literal["path", "query", "header", "body"], Field(alias="in")]
    name: str = ""
    """How the service calls it; left out: as it is called here. Dots nest in a body."""
    type: Literal["string", "integer", "number", "boolean", "array", "object"] = "string"
    items: Literal["string", "integer", "number", "boolean"] = "string"
    enum: Annotated[list[str | int | float], Field(min_length=1)] | None = None
    required: bool = True
    default: object = None
    min: float | None = None
    """Least value of a number, least length of a text or a list."""
    max: float | None = None
    pattern: str | None = None
    slashes: bool = False
    """Whether a value in the path may have slashes, and so be several parts of it."""

    @model_validator(mode="after")
    def _has_a_place(self) -> "HttpParameter":
        if self.in_ in ("path", "header") and self.type in ("array", "object"):
            raise ValueError(f"an {self.type} has no place in a {self.in_}")
        if self.in_ == "query" and self.type == "object":
            raise ValueError("an object has no place in a query")
        if self.in_ == "path" and not self.required:
            raise ValueError("what stands in the path is required")
        if self.slashes and self.in_ != "path":
            raise ValueError("`slashes` are for what stands in the path")
        if self.in_ == "header" and (not self.name or self.name.lower() in FIXED_HEADERS):
            raise ValueError("needs the `name` of a header that may be set")
        return self

    @model_validator(mode="after")
    def _can_be_checked(self) -> "HttpParameter":
        if self.opaque and self.type != "string":
            raise ValueError("only a string is opaque")
        try:
            checked = TypeAdapter(taken_as(self))
        except (SchemaError, TypeError) as wrong:
            raise ValueError(f"contradicts itself: {' '.join(str(wrong).split())[:200]}") from None
        if self.default is not None:
            checked.validate_python(self.default)
        return self


class FormField(Part):
    """One field of a breaker's form."""

    type: Literal["string", "integer", "number", "boolean"] = "string"
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
    kinds = {**PLAIN, "array": GenericAlias(list, PLAIN[parameter.items]), "object": dict[str, Any]}
    kind = kinds[parameter.type]
    marks = [Opaque(parameter.opaque)] if parameter.opaque else []
    return Annotated[kind, Field(**rules), *marks] if rules or marks else kind


def arguments(name: str, parameters: Mapping[str, HttpParameter]) -> type[BaseModel]:
    """Return the model of what a model gives; the runtime beside it is set by the system."""
    fields: dict[str, Any] = {
        key: _field(parameter) for key, parameter in parameters.items() if parameter.is_the_models
    }
    config = ConfigDict(arbitrary_types_allowed=True)
    return create_model(name, __config__=config, runtime=(Runtime, ...), **fields)


def form_of(name: str, specs: Mapping[str, FormField]) -> type[BaseModel]:
    """Return the model of a form."""
    fields: dict[str, Any] = {}
    for key, field in specs.items():
        kind, described = PLAIN[field.type], field.description or None
        required = (kind, Field(description=described))
        fields[key] = required if field.required else (kind | None, Field(default=None, description=described))
    return create_model(name, **fields)


def _field(parameter: HttpParameter) -> tuple[Any, Any]:
    kind, described = taken_as(parameter), parameter.description or None
    if parameter.required and parameter.default is None:
        return kind, Field(description=described)
    return (kind if parameter.default is not None else kind | None), Field(parameter.default, description=described)
