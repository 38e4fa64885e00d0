"""What an operator can set for searches; `.env.example` beside this file explains each."""

from typing import Annotated

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from agents.sources.web.ssrf import policy_of
from dialogs.research import retrievers
from dialogs.research.plan import Plan, read_plans


class ResearchSettings(BaseSettings):
    """The sources, and how they are asked."""

    search_sources: Annotated[tuple[Plan, ...], NoDecode] = (Plan("documents", (("documents",),)),)
    search_timeout: float = Field(default=10, gt=0, le=20)
    search_cache_minutes: int = Field(default=60, ge=0)
    search_internal: Annotated[tuple[str, ...], NoDecode] = ()
    searxng_url: str = ""
    tavily_api_key: SecretStr | None = None
    tavily_url: str = "https://api.tavily.com"
    wikipedia_url: str = "https://{lang}.wikipedia.org"

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
        """Check that the sources exist and have the settings that they need, and that addresses can be used."""
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
            "WIKIPEDIA_URL": self.wikipedia_url.replace("{lang}", "en"),
        }
        for setting, address in [*named.items(), *(("SEARCH_INTERNAL", place) for place in self.search_internal)]:
            try:
                if address:
                    policy_of(address, internal=True)
            except ValueError as wrong:
                raise ValueError(f"{setting} {wrong}") from None
        return self
