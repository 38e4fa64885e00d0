"""An operator's settings of searches; `.env.example` beside this file explains each.

The form of SEARCH_SOURCES: `documents, wikipedia, web: searxng + ddgs > tavily`.

A comma separates the choosable retrievers. `+` asks several at once; `>` asks the next one when the former one
fails or finds nothing, and binds more loosely than `+`. `name:` before them names the combination.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from agents.plugin import PluginSettings
from agents.sources.web.ssrf import policy_of
from dialogs.research import retrievers
from prompts import FALLBACK

_NAME = re.compile("[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True)
class RetrieverPlan:
    """A choosable retriever: alternatives in their order, each a group of sources that are asked at once."""

    name: str
    alternatives: Sequence[Sequence[str]]

    @property
    def sources(self) -> list[str]:
        """The names of all its sources."""
        return [name for group in self.alternatives for name in group]


def read_plans(text: str) -> list[RetrieverPlan]:
    """Return the plans of a setting. Raises ValueError, with the fault: the setting is malformed."""
    plans = [_plan(entry) for entry in text.split(",") if entry.strip()]
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise ValueError("give each entry a name of its own")
    return plans


def _plan(entry: str) -> RetrieverPlan:
    name, colon, body = entry.rpartition(":")
    alternatives = tuple(tuple(source.strip() for source in group.split("+")) for group in body.split(">"))
    plan = RetrieverPlan(
        name.strip() if colon else "_or_".join("_and_".join(group) for group in alternatives), alternatives
    )
    wrong = [word for word in [*plan.sources, *([plan.name] if colon else [])] if not _NAME.fullmatch(word)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not a name; write sources as in: documents, web: searxng + ddgs > wikipedia")
    return plan


class ResearchSettings(PluginSettings):
    """The sources of searches, and their limits."""

    search_sources: Annotated[tuple[RetrieverPlan, ...], NoDecode] = (RetrieverPlan("documents", (("documents",),)),)
    search_timeout: float = Field(default=10, gt=0, le=20)
    search_cache_minutes: int = Field(default=60, ge=0)
    search_internal: Annotated[tuple[str, ...], NoDecode] = ()
    searxng_url: str = ""
    tavily_api_key: SecretStr | None = None
    tavily_url: str = "https://api.tavily.com"
    wikipedia_url: str = "https://{lang}.wikipedia.org"
    embeddings_model: str = Field(default="", pattern="^([a-z_]+:.+)?$")
    embeddings_base_url: str = ""
    embeddings_api_key: SecretStr | None = None

    @field_validator("search_sources", mode="before")
    @classmethod
    def _plans(cls, value: object) -> object:
        """Read "documents, web: searxng + ddgs > wikipedia"."""
        return read_plans(value) if isinstance(value, str) else value

    @field_validator("search_internal", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        """Read "http://wiki.lan, https://intranet.example:8443"."""
        return value.replace(",", " ").split() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _complete(self) -> "ResearchSettings":
        """Check that the sources exist and have their settings, and that addresses can be used."""
        sources = retrievers.discover()
        for name in dict.fromkeys(name for plan in self.search_sources for name in plan.sources):
            if name not in sources:
                raise ValueError(f"SEARCH_SOURCES names {name!r}; there are {', '.join(sources)}")
            for setting in sources[name].needs:
                if not getattr(self, setting):
                    raise ValueError(f"SEARCH_SOURCES: {name} needs {setting.upper()}")
        named = {
            "SEARXNG_URL": self.searxng_url,
            "TAVILY_URL": self.tavily_url,
            "WIKIPEDIA_URL": self.wikipedia_url.replace("{lang}", FALLBACK),
            "EMBEDDINGS_BASE_URL": self.embeddings_base_url,
        }
        for setting, address in [*named.items(), *(("SEARCH_INTERNAL", place) for place in self.search_internal)]:
            try:
                if address:
                    policy_of(address, internal=True)
            except ValueError as wrong:
                raise ValueError(f"{setting} {wrong}") from None
        return self
