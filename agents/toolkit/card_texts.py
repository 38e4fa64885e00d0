"""Descriptions and examples that come with a tool from outside, by language, as `prompts/<lang>/tools/` has them."""

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
    source: str = ""
    """The file and the place in it."""

    def described(self, lang: str) -> str:
        """Return the description in a language, else in the fallback's."""
        return self.descriptions.get(lang) or self.descriptions.get(FALLBACK, "")


def with_texts(tool: BaseTool, texts: Texts) -> BaseTool:
    """Put texts on a tool and return it."""
    tool.metadata = {**(tool.metadata or {}), _TEXTS: texts}
    return tool


def texts_of(tool: BaseTool, lang: str) -> tuple[str, tuple[str, ...]]:
    """Return a tool's description and examples in a language; a file in `prompts/` goes before what came with it."""
    description, examples = card(tool.name, lang)
    return description or own_texts(tool).described(lang) or tool.description, examples or examples_of(tool, lang)


def from_source(tool: BaseTool, source: str) -> BaseTool:
    """Note on a tool which file describes it, and where in it; return the tool."""
    return with_texts(tool, replace(own_texts(tool), source=source))


def examples_of(tool: BaseTool, lang: str) -> tuple[str, ...]:
    """Return the examples that came with a tool in a language."""
    return tuple(own_texts(tool).examples.get(lang, ()))


def own_texts(tool: BaseTool) -> Texts:
    """Return the texts that came with a tool; those of a function here are empty."""
    found: Texts = (tool.metadata or {}).get(_TEXTS, Texts())
    return found
