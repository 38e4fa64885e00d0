"""The steps "rank" and "cut": one order for what several retrievers found, and as much of it as a model is given."""

import json
from collections.abc import Sequence
from dataclasses import replace

from dialogs.research.composites import fused
from dialogs.research.retrievers import Document
from dialogs.research.search import QueryResult

ROOM = 7_500
"""Characters of JSON that a call's result has; what is longer would be cut in the middle (`agents.toolkit.result`)."""
FRAME = 80
"""Characters of JSON around a query or a document."""
LEAST = 200
"""Characters of JSON that a document should have; with many queries there are fewer documents for each."""
SHORTEST = 60


def ranked(result: QueryResult) -> QueryResult:
    """Return a result with its documents in one order, by the places that the retrievers gave them."""
    return replace(result, documents=fused([results.documents for results in result.collected]))


def cut(results: Sequence[QueryResult], limit: int) -> list[QueryResult]:
    """Return the first documents of each query, their texts shortened so that all of them have room."""
    around = sum(_size(result.query) + _size(result.problem) + FRAME for result in results)
    most = (ROOM - around) // (LEAST + FRAME) // len(results)
    first = [replace(result, documents=result.documents[: max(min(limit, most), 1)]) for result in results]
    count = sum(len(result.documents) for result in first)
    longest = max((ROOM - around) // max(count, 1) - FRAME, SHORTEST)
    return [replace(result, documents=[_short(each, longest) for each in result.documents]) for result in first]


def shortened(text: str, longest: int) -> str:
    """Return a text that has so many characters at most as it is written in JSON, cut between two words."""
    short = text[:longest]
    while short and (size := _size(short)) > longest:
        short = short[: min(len(short) * longest // size, len(short) - 1)]
    if short == text:
        return text
    begin, gap, _ = short[:-1].rpartition(" ")
    return f"{begin if gap and len(begin) > len(short) // 2 else short[:-1]}…"


def _short(document: Document, longest: int) -> Document:
    title = shortened(document.title, longest // 3)
    return replace(document, title=title, text=shortened(document.text, longest - _size(title)))


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))
