"""The traits of a tool, which its code states beside its signature. With the texts of `prompts/` they make its card."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Annotated, Any, Literal, Protocol, TypeVar, runtime_checkable

from langchain_core.tools import BaseTool, StructuredTool, Tool
from pydantic import BaseModel, Field

from agents.errors import ContractError
from agents.field_types import mistyped
from agents.language.identifiers import Schema
from agents.state.speaker_state import Json
from agents.toolkit.context import Context, Runtime

Kind = Literal["general", "selector", "breaker", "client"]
Effect = Literal["read", "write"]
Confirm = Literal["never", "foreign", "always"]
Permission = Annotated[str, Field(pattern=r"^[\w.:-]*$")]
"""One word, as PERMISSIONS grants it."""
DAY = timedelta(days=1)
LONGEST_KEY_LIFE = timedelta(days=366)
StateCheck = Callable[[Json, Runtime], Awaitable[str | None]]
"""A state check before a write: takes the arguments and the runtime, returns the obstacle.

The arguments are plain data, as the tool accepts them, with its defaults. The check of a transaction runs within it.
"""
Wording = Callable[[Json, Runtime], Awaitable[str | None]]
"""Words the question before a call for the user: takes the arguments and the runtime.

It returns an empty text for the usual words, and None if the call would do nothing and needs no question.
"""


@runtime_checkable
class Items(Protocol):
    """A kind of items that tools keep for the user; a change of one can be taken back."""

    name: str
    """The name of the kind in the undo log. It is stored, so it must not change."""

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the items that exist, by key, as plain data."""

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put an item back as it was; None: there was none."""

    def same(self, item: Json | None, other: Json | None) -> bool:
        """Tell whether two values, or None, are the same item in the same state."""
        return item == other

    def worded(self, value: Json, lang: str) -> str:
        """Return an item in words for the user."""

    def remembered(self, value: Json, lang: str) -> str:
        """Return an item in words for long-term memory, without "tomorrow" or the number of a list: these change."""
        return self.worded(value, lang)


@dataclass(frozen=True)
class Done:
    """A call that was done, for the function that takes it back."""

    args: Json
    object: object
    """The object of its result; None if it answered with a sentence."""
    text: str
    """The text that the model read."""


Inverse = Callable[[Done, Runtime], Awaitable[str]]
"""Takes a call back; returns the outcome in words for the user. May raise `Refused`: it cannot be taken back."""
_TRAITS = "traits"
_OF_CLASS = "__tool_traits__"
Marked = TypeVar("Marked", bound="BaseTool | type[BaseTool]")


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The properties of a tool that say how it may be used."""

    kind: Kind = "general"
    """A selector lets the user choose, a breaker has them fill in a form; both wait for the user. The client runs its
    own tools."""
    effect: Effect = "read"
    key: Sequence[str] = ()
    """Writes with equal values of these arguments are the same write; without a key each call is a write of its own."""
    again_after: timedelta = DAY
    """The time for which the same write counts as done; after that it is a new one."""
    repeatable: bool = False
    """Running it again after a crash in the middle does no harm, since it recognises the call itself.

    Without a key of its own such a write is not entered in the ledger of done writes, which would not help.
    """
    transaction: bool = False
    """The tool writes only within `runtime.context.ledger.transaction()`, which commits together with its answer."""
    result: type[BaseModel] | Schema | None = None
    """The form of its result: a pydantic model or a JSON schema; None for a sentence."""
    form: type[BaseModel] | None = None
    """The form that a breaker has the user fill in."""
    view: str = ""
    """The kind of the view that it shows, such as "cards"; empty for none."""
    answers: bool = False
    """Whether its view is the whole answer: it replaces the model's words, and the model is told so."""
    permission: Permission = ""
    """The permission that the user needs; empty: none."""
    check: StateCheck | None = None
    volatile: bool = False
    """Whether the same call may answer differently later: it tells of the world outside (the time, the weather)."""
    always: bool = False
    """Whether it is bound even if there are too many tools to bind."""
    private: bool = False
    """Whether its result is the user's alone: where others read along it reaches neither the chat nor the model."""
    shortcut: bool = False
    """Whether a plain request for it may be served without a model; it must not need arguments."""
    confirm: Confirm | Callable[[Json], Confirm] | None = None
    """When the user is asked before it runs: never, after foreign text was read, or always.

    Also a function of the arguments. Left out: `always` for an irreversible write, `foreign` for a write or a send.
    """
    question: Wording | None = None
    """Words that question; without it the user sees the tool's title and its arguments."""
    foreign: bool | Callable[[Context], bool] = False
    """Whether it returns text that others wrote: pages, documents, messages, answers of services."""
    egress: bool | Callable[[Json, Runtime], bool] = False
    """Whether a read carries its arguments outside, which counts as a send."""
    carries: Sequence[str] = ()
    """The arguments of such a read that hold words; empty: all of them. The user's own words need no yes."""
    asks_once: bool = False
    """Whether the user's answer holds for its further calls too, until the user speaks again; only for a read."""
    cited: bool = False
    """Whether it gives documents with numbers of `runtime.state["sources"]`, which the answer may cite."""
    undo: Items | Sequence[Items] | Inverse | None = None
    """The undo of its write: the kinds of items that it enters in the undo log, or a function."""
    irreversible: bool = False
    """Whether nobody can take its write back."""

    def __post_init__(self) -> None:
        if wrong := mistyped(self):
            raise ContractError(f"the trait {wrong}")
        if self.effect == "read" and (self.key or self.check or self.repeatable or self.transaction):
            raise ContractError("only a write has a key or a check, is repeatable or a transaction: set effect='write'")
        if not (timedelta() < self.again_after <= LONGEST_KEY_LIFE) or (self.again_after != DAY and not self.key):
            raise ContractError("again_after is a time of up to 366 days, and only a write with a key has one")
        if self.answers and not self.view:
            raise ContractError("only a tool with a view answers by it: set view=…")
        if self.form and self.kind != "breaker":
            raise ContractError("only a breaker has a form")
        if self.form is not None and not self.form.model_fields:
            raise ContractError(f"a form must be a pydantic model with fields, found {self.form!r}")
        if self.asks_once and self.effect == "write":
            raise ContractError("only a read asks once: each write has a question of its own")
        if self.irreversible and self.effect == "read":
            raise ContractError("only a write is irreversible: set effect='write'")
        if self.undo is not None and (self.irreversible or self.effect == "read"):
            raise ContractError("only a write that is not irreversible has an undo")

    def asks(self, args: Json, runtime: Runtime) -> Confirm:
        """Return the cases in which the user is asked before a call with these arguments."""
        if callable(self.confirm):
            return self.confirm(args)
        if self.confirm is not None:
            return self.confirm
        if self.irreversible:
            return "always"
        sends = self.egress(args, runtime) if callable(self.egress) else self.egress
        return "foreign" if self.effect == "write" or sends else "never"

    @property
    def items(self) -> Sequence[Items]:
        """The kinds of items that it enters in the undo log."""
        if self.undo is None or callable(self.undo):
            return ()
        return self.undo if isinstance(self.undo, Sequence) else (self.undo,)

    @property
    def inverse(self) -> Inverse | None:
        """The function that takes its write back, if it has one."""
        return self.undo if callable(self.undo) else None

    def is_foreign(self, context: Context) -> bool:
        """Tell whether others wrote its results."""
        return self.foreign(context) if callable(self.foreign) else self.foreign


CLIENT: Kind = "client"
PLAIN = Traits()
UNTRUSTED = Traits(foreign=True, egress=True)
"""The traits of a class of tools that states none: it comes from a library, and may reach out."""


def traits(
    *, kind: Kind = "general", effect: Effect = "read", key: Sequence[str] = (), **further: Any
) -> Callable[[Marked], Marked]:
    """Set the traits of a tool, or of the tools of a class; see `Traits` for the further ones.

    Raises ContractError if there is no such trait, one has another type, or traits contradict each other.
    """
    names = {field.name for field in fields(Traits)}
    if unknown := sorted(set(further) - names):
        raise ContractError(f"there is no trait {', '.join(unknown)}; there are: {', '.join(sorted(names))}")
    stated = Traits(kind=kind, effect=effect, key=key, **further)

    def marked(tool: Marked) -> Marked:
        there = vars(tool) if isinstance(tool, type) else getattr(tool, "metadata", None)
        if {_TRAITS, _OF_CLASS} & {*(there or ())}:
            # The second ones would take the place of the first.
            raise ContractError(f"write one @traits, not two, above {getattr(tool, 'name', tool)}")
        if isinstance(tool, BaseTool):
            with_traits(tool, stated)
        elif isinstance(tool, type):
            setattr(tool, _OF_CLASS, stated)
        else:
            # The tool that is made of it would have no traits: a write would count as a read.
            raise ContractError(f"write @traits above @tool, not below it: {getattr(tool, '__name__', tool)}")
        return tool

    return marked


def with_traits(tool: BaseTool, stated: Traits) -> BaseTool:
    """Put traits on a tool and return it."""
    tool.metadata = {**(tool.metadata or {}), _TRAITS: stated}
    return tool


def traits_of(tool: BaseTool) -> Traits:
    """Return the traits of a tool; one that states none is a general one that only reads.

    A class of tools that states none may reach out for all we know, so that it counts as `UNTRUSTED`.
    """
    unsaid = PLAIN if isinstance(tool, StructuredTool | Tool) else UNTRUSTED
    of_class: Traits = getattr(type(tool), _OF_CLASS, unsaid)
    stated: Traits = (tool.metadata or {}).get(_TRAITS, of_class)
    return stated
