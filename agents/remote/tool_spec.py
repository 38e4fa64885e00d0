"""The description of a tool in a file, the same for HTTP services and MCP servers."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import Field, model_validator

from agents.remote.parameter_spec import FormField, ParameterSpec
from agents.remote.result_spec import Errors, Options, Page, Result, ViewSpec
from agents.remote.yaml_file import NO_EXAMPLES, NO_TEXTS, ByLanguage, Examples, Part, ToolName, Trusted
from agents.toolkit.traits import LONGEST_KEY_LIFE, Confirm, Effect, Kind


class Span(Part):
    """A length of time: `{minutes: 10}`, `{days: 30}`."""

    minutes: Annotated[float, Field(ge=0)] = 0
    hours: Annotated[float, Field(ge=0)] = 0
    days: Annotated[float, Field(ge=0)] = 0

    @property
    def time(self) -> timedelta:
        """How long it is."""
        return timedelta(minutes=self.minutes, hours=self.hours, days=self.days)

    @model_validator(mode="after")
    def _is_a_time(self) -> "Span":
        if not timedelta() < self.time <= LONGEST_KEY_LIFE:
            raise ValueError(f"is a time of up to {LONGEST_KEY_LIFE.days} days")
        return self


class ToolSpec(Part):
    """One tool: its texts for the model, its parameters, and the use of the answer."""

    description: ByLanguage = NO_TEXTS
    examples: Examples = NO_EXAMPLES
    parameters: Mapping[str, ParameterSpec] = {}
    kind: Kind = "general"
    effect: Effect | None = None
    key: tuple[str, ...] = ()
    again_after: Span | None = None
    """When the same key means a new write; left out: after a day."""
    permission: str = ""
    confirm: Confirm | None = None
    """When the user is asked before a call; left out: before a write or a sending, after text from outside was read."""
    title: ByLanguage = NO_TEXTS
    """What it does, for the user who is asked."""
    foreign: bool | None = None
    """Whether what comes back may hold text that others wrote; left out: as its service or server says."""
    egress: bool | None = None
    """Whether a read carries data out; left out: if the model is free in an argument."""
    result: Result = Result()
    view: ViewSpec | None = None
    options: Options | None = None
    page: Page | None = None
    form: Mapping[ToolName, FormField] = {}
    errors: Errors = Errors()

    @property
    def writes(self) -> bool:
        """Whether a call changes something: it does, unless the file says that it only reads."""
        return self.effect != "read"

    @property
    def can_be_narrowed(self) -> bool:
        """Whether the model gives an argument, so that it can ask for fewer options."""
        return any(parameter.is_the_models for parameter in self.parameters.values())

    @property
    def hidden(self) -> Mapping[str, ParameterSpec]:
        """The parameters that the system sets, by name; no model sees them."""
        return {name: spec for name, spec in self.parameters.items() if not spec.is_the_models}

    def set_values(self, trusted: Mapping[Trusted, str]) -> dict[str, object]:
        """Return the values that no model sees, by parameter; `trusted` is what the system says of the turn."""
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
