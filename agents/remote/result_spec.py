"""How a file says what the answer of a service means: read by JMESPath, shown by templates with plain `{name}`s."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, Field

from agents.language.identifiers import MARK
from agents.remote.yaml_file import NO_TEXTS, ByLanguage, Part

Template = str
"""A text in which `{name}` or `{name.part}` stands for a value of the object."""


def _expression(text: str) -> str:
    try:
        jmespath.compile(text)
    except JMESPathError as broken:
        raise ValueError(f"not a JMESPath expression: {str(broken).splitlines()[0]}") from None
    return text


def _marked(schema: object) -> object:
    """Return a schema with the mark of opaque identifiers in place of `opaque`."""
    if isinstance(schema, Mapping):
        opaque = isinstance(schema.get("opaque"), str) and "type" in schema
        return {MARK if opaque and name == "opaque" else name: _marked(value) for name, value in schema.items()}
    return [_marked(value) for value in schema] if isinstance(schema, list) else schema


Path = Annotated[str, AfterValidator(_expression)]
"""A JMESPath expression: `orders[].{id: id, name: title}`."""


class Result(Part):
    """What the model reads: what `object` finds in the answer, else `message`."""

    object: Path = "@"
    schema_: Annotated[Mapping[str, Any], AfterValidator(_marked)] | None = Field(default=None, alias="schema")
    """JSON schema of the object; `opaque: order` beside a type marks an identifier."""
    message: ByLanguage = NO_TEXTS
    """Said in place of an object."""


class Cards(Part):
    """A card list; `each` finds its entries in the object."""

    kind: Literal["cards"]
    title: ByLanguage = NO_TEXTS
    each: Path = "@"
    label: Template
    detail: Template = ""
    url: Template = ""
    id: Template = ""


class Column(Part):
    """One column of a table."""

    title: ByLanguage
    cell: Template


class TableView(Part):
    """A table; `each` finds its rows in the object."""

    kind: Literal["table"]
    title: ByLanguage = NO_TEXTS
    each: Path = "@"
    columns: Annotated[list[Column], Field(min_length=1)]


class NoticeView(Part):
    """A remark."""

    kind: Literal["notice"]
    message: ByLanguage
    level: Literal["info", "warning", "error"] = "info"


class LinkView(Part):
    """A page to open."""

    kind: Literal["link"]
    title: ByLanguage = NO_TEXTS
    url: Template


class PlayerView(Part):
    """What a player plays."""

    kind: Literal["player"]
    title: ByLanguage
    state: Template
    position: Template = ""
    duration: Template = ""
    volume: Template = ""


class DocumentView(Part):
    """A text to keep."""

    kind: Literal["document"]
    title: ByLanguage
    content: Template


ViewSpec = Annotated[Cards | TableView | NoticeView | LinkView | PlayerView | DocumentView, Field(discriminator="kind")]


class Options(Part):
    """What a selector offers: `each` finds the candidates in the object; the model gets the one that is chosen."""

    ask: ByLanguage
    each: Path = "@"
    label: Template
    detail: Template = ""
    id: Template = ""
    facts: Mapping[str, Path] = {}
    """What people may tell a candidate by: price, rating, date."""


class Page(Part):
    """What a breaker asks for: a page to open (`url`), or a form to fill in (`form` of the tool)."""

    ask: ByLanguage
    url: Template = ""
    back: Template = ""
    """Where the page ends, with the parameters that are handed back: `https://shop.example/end?code=`."""


class Errors(Part):
    """What a refusal says: `message` finds it in what the service answers; `notice` is for the user."""

    message: Path = "message || error.message || error || detail"
    notice: ByLanguage = NO_TEXTS
