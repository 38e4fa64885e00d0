"""assistant_help: the way out when no other tool fits or one has failed."""

from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from agents.lexical import stems
from agents.state import Context
from prompts import phrase, prompt


@tool
async def assistant_help(query: str, runtime: ToolRuntime[Context, Any]) -> str:
    """Look up help when no other tool fits or a tool has failed. query: the whole question, understandable alone."""
    lang = runtime.state["lang"]
    return look_up(query, lang) or phrase("help_unknown", lang)


def look_up(query: str, lang: str) -> str | None:
    """Return the section of the help pages that shares most words with the query; None when none does."""
    wanted = set(stems(query, lang))
    found = max(_sections(lang), key=lambda section: len(wanted & set(stems(section, lang))))
    return found if wanted & set(stems(found, lang)) else None


def _sections(lang: str) -> list[str]:
    pages = prompt("help", lang).split("\n## ")
    return [section.partition("\n")[2].strip() for section in pages[1:]]
