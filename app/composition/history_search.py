"""The tool that finds earlier messages of a conversation, with every speaker."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from langchain_core.tools import tool

from agents.language.text.fulltext import Index, IndexEntry
from agents.language.text.stems import stem
from agents.language.text.stems import words as words_of
from agents.language.text.vocabulary import listening, small_words
from agents.memory import Memory
from agents.memory.inbox import TO, TranscriptLine, lines_of
from agents.state.person import OF_USER
from agents.toolkit.context import Context, Runtime
from prompts import phrase

MOST_LINES = 10_000
"""The number of searched lines of a thread, the newest ones."""
MOST_FOUND, LONGEST_LINE = 4, 500
"""The most exchanges in a result, and the most characters of each line."""


@tool
async def search_history(words: str, runtime: Runtime) -> str:
    """Find what was said earlier.

    words: what it was about.
    """
    context, lang = runtime.context, runtime.state["lang"]
    memory = context.services.find(Memory)
    lines = await memory.transcript.lines(context.thread, limit=MOST_LINES) if memory else []
    exchanges: dict[str, list[TranscriptLine]] = {}
    for line in _own(lines, context):
        exchanges.setdefault(line.message_id, []).append(line)
    matches = await asyncio.to_thread(_search, [*exchanges.values()], words, listening(words, lang))
    return "\n".join(_worded(line, context) for exchange in matches for line in exchange) or phrase(
        "said_nowhere", lang
    )


def _own(lines: Sequence[TranscriptLine], context: Context) -> list[TranscriptLine]:
    """Return the user's messages and their answers; where others read along, only those that others could read.

    Messages of other people that the user passed on are left out: they are not the user's words.
    """
    aloud = {line.message_id for line in lines if TO in line.metadata or not context.is_shared}
    own = (line for line in lines_of(context.user, lines) if line.message_id in aloud)
    return [line for line in own if line.role == "assistant" or line.metadata.get("source") in OF_USER]


def _search(exchanges: Sequence[Sequence[TranscriptLine]], query: str, lang: str) -> list[Sequence[TranscriptLine]]:
    """Return the exchanges that share most words with the query, oldest first; many words match better than one."""
    telling = " ".join(word for word in words_of(query) if stem(word, lang) not in small_words(lang)) or query
    texts = ("\n".join(line.text for line in exchange) for exchange in exchanges)
    index = Index([IndexEntry(str(place), "", text) for place, text in enumerate(texts)], lang)
    return [exchanges[place] for place in sorted(int(hit.key) for hit in index.search(telling, MOST_FOUND))]


def _worded(line: TranscriptLine, context: Context) -> str:
    at = datetime.fromtimestamp(line.at_ms / 1000, context.zone)
    return f"[{at:%Y-%m-%d %H:%M}] {line.role}: {' '.join(line.text.split())[:LONGEST_LINE]}"
