"""Descriptions and examples that come with a tool from outside, by language, as the card files have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.tools import BaseTool

from prompts import FALLBACK, card

_TEXTS = "texts"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What a tool's source says of it, by language."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """What it does, for the user who is asked before it runs."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What its parameters are called, for the same user; by name, and then by language."""
    source: str = ""
    """The file and the place in it."""
    fingerprint: str = ""
    """What changes when the source describes the tool otherwise; empty if the file alone does."""


def with_texts(tool: BaseTool, texts: Texts) -> BaseTool:
    """Put texts on a tool and return it."""
    tool.metadata = {**(tool.metadata or {}), _TEXTS: texts}
    return tool


def texts_of(tool: BaseTool, lang: str) -> tuple[str, tuple[str, ...]]:
    """Return a tool's description and examples in a language; a file in `prompts/` goes before what came with it,
    a text in the language before one in English."""
    own, examples = own_texts(tool).descriptions, card(tool.name, lang)[1] or examples_of(tool, lang)
    descriptions = (
        description for choice in (lang, FALLBACK) for description in (card(tool.name, choice)[0], own.get(choice))
    )
    return next(filter(None, descriptions), tool.description), examples


def from_source(tool: BaseTool, source: str, fingerprint: str = "") -> BaseTool:
    """Note on a tool which file describes it, where in it, and what its server says; return the tool."""
    return with_texts(tool, replace(own_texts(tool), source=source, fingerprint=fingerprint))


def examples_of(tool: BaseTool, lang: str) -> tuple[str, ...]:
    """Return the examples that came with a tool in a language."""
    return tuple(own_texts(tool).examples.get(lang, ()))


def own_texts(tool: BaseTool) -> Texts:
    """Return the texts that came with a tool; those of a function here are empty."""
    texts: Texts = (tool.metadata or {}).get(_TEXTS, Texts())
    return texts
