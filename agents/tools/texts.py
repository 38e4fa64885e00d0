"""Descriptions and examples that come with a tool from outside, by language, as `prompts/<lang>/tools/` has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.tools import BaseTool

from prompts import FALLBACK, card

_TEXTS = "texts"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What a tool's source says of it, by language."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)

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
    return description or _own(tool).described(lang) or tool.description, examples or examples_of(tool, lang)


def examples_of(tool: BaseTool, lang: str) -> tuple[str, ...]:
    """Return the examples that came with a tool in a language."""
    return tuple(_own(tool).examples.get(lang, ()))


def _own(tool: BaseTool) -> Texts:
    found: Texts = (tool.metadata or {}).get(_TEXTS, Texts())
    return found
