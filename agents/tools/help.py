"""assistant_help: the way out when no other tool fits or one has failed."""

from functools import cache
from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from agents.ideas import small_words
from agents.lexical import stems
from agents.state import Context
from prompts import phrase, prompt


@tool
async def assistant_help(query: str, runtime: ToolRuntime[Context, Any]) -> str:
    """Look up help when no tool fits or one has failed. query: the whole question, clear by itself."""
    lang = runtime.state["lang"]
    return look_up(query, lang) or phrase("help_unknown", lang)


def look_up(query: str, lang: str) -> str | None:
    """Return the section of the help pages that shares most words with the query; None when none does."""
    wanted = set(stems(query, lang)) - small_words(lang)
    scores = {text: 2 * len(wanted & heading) + len(wanted & body) for text, heading, body in _sections(lang)}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] else None


@cache
def _sections(lang: str) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Return each section's text with the stems of its title and of itself."""
    pages = [page.partition("\n") for page in prompt("help", lang).split("\n## ")[1:]]
    return [(text.strip(), frozenset(stems(title, lang)), frozenset(stems(text, lang))) for title, _, text in pages]
