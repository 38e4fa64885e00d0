"""What a search found, as quotations with their numbers: of a document the stand-in says only what stands in it."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.language.text.stems import stems
from agents.models.standin.sentences import sentence

MOST = 3
"""Documents that are quoted for a query."""
LONGEST = 300
"""Characters of a quotation."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


def quotations(text: str, lang: str) -> str:
    """Return what stands in the documents of a search, each passage with the mark of its source.

    `text` is the payload of the tool `search`. A query without documents is named too.
    """
    try:
        results = json.loads(text)["results"]
    except (ValueError, KeyError, TypeError):
        return sentence("nothing_found", lang)
    return "\n\n".join(_of_query(result, lang) for result in results)


def _of_query(result: Mapping[str, Any], lang: str) -> str:
    query, documents = str(result["query"]), result["documents"][:MOST]
    lines = [_quoted(document, query, lang) for document in documents] or [sentence("nothing_found", lang)]
    return "\n".join([sentence("quoted", lang, query=query), *lines])


def _quoted(document: Mapping[str, Any], query: str, lang: str) -> str:
    text = str(document["text"])
    title, _, body = text.partition("\n")
    passage = sentence("quotation", lang, passage=_passage(body or title, frozenset(stems(query, lang)), lang))
    return f"- {passage} [source=[{document['reference_keyword']}]]"


def _passage(text: str, wanted: frozenset[str], lang: str) -> str:
    """Return the neighbouring sentences that share most words with the query, as they stand."""
    sentences = [" ".join(each.split()) for each in _SENTENCE.split(text) if each.strip()]
    shared = [len(wanted.intersection(stems(each, lang))) for each in sentences]
    first = max(range(len(sentences)), key=lambda place: shared[place], default=0)
    return _bounded(sentences[first:])


def _bounded(sentences: Sequence[str]) -> str:
    passage = ""
    for each in sentences:
        longer = f"{passage} {each}".strip()
        if passage and len(longer) > LONGEST:
            return passage
        passage = longer
    if len(passage) <= LONGEST:
        return passage
    begin, gap, _ = passage[: LONGEST - 1].rpartition(" ")
    return f"{begin if gap else passage[: LONGEST - 1]}…"
