"""Search: from queries to numbered documents, in visible steps.

choose (a retriever), collect (all queries at once), check (every query for documents), rank, cut (to the requested
number), answer (the payload for the model).
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from pydantic import BaseModel

from agents.events import Images, ShownImage, Sources, Step
from agents.events.views import is_web
from agents.language.text.clean import clean
from agents.language.text.stems import has_phrase, stems
from agents.state.citations import CitedSource, without_marks
from agents.state.speaker_state import Json
from dialogs.research.composites import asked, fused
from dialogs.research.retrievers import FoundDocument, Image, Results, Retriever
from prompts import sentence, table

Tell = Callable[[Step, str, int], None]
"""Gets each finished step, with its outcome and its time in ms."""
LONGEST_PASSAGE = 20_000
"""The most characters of a passage that are read."""
LONGEST_LINE = 200
LONGEST_ADDRESS = 1_000
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")
ROOM = 7_500
"""The most characters of JSON in a call's result; a longer one would be cut in the middle (`agents.toolkit.result`)."""
FRAME = 80
"""Characters of JSON around a query or a document."""
LEAST = 200
"""The least characters of JSON of a document; many queries leave fewer documents for each."""
SHORTEST = 60
LONGEST_NAMED = 80
"""The most characters of a query in a sentence about it."""
MOST_IMAGES = 20


@dataclass(frozen=True)
class SearchRequest:
    """A model's request for documents."""

    queries: Sequence[str]
    """The queries, one for each subject, all different."""
    lang: str
    limit: int
    """The number of documents for each query."""
    sources: Sequence[str] = ()
    """The retrievers that the model names; if it names none, rules choose."""


@dataclass(frozen=True)
class QueryResult:
    """The results for one query."""

    query: str
    collected: Sequence[Results] = ()
    """The results of each asked retriever."""
    documents: Sequence[FoundDocument] = ()
    """The documents in their final order, after the ranking."""
    problem: str = ""
    """The reason why there are no documents, in words for a model."""

    @property
    def failures(self) -> dict[str, str]:
        """The failed retrievers, with their reasons."""
        return {name: why for results in self.collected for name, why in results.failures.items()}


class NothingFound(Exception):
    """No query has documents; the message tells a model so."""


def choose(request: SearchRequest, retrievers: Mapping[str, Retriever]) -> list[Retriever]:
    """Return the retrievers that the model names; else the one with words in a query; else the first.

    Raises:
        NothingFound: no source is set up, or no source has that name.
    """
    if not retrievers:
        raise NothingFound(sentence("research/phrases", "no_source", request.lang))
    if unknown := [name for name in request.sources if name not in retrievers]:
        about = {"source": ", ".join(unknown)[:200], "sources": listed(retrievers, request.lang)}
        raise NothingFound(sentence("research/phrases", "unknown_source", request.lang, **about))
    if request.sources:
        return [retrievers[name] for name in dict.fromkeys(request.sources)]
    return [_by_rules(request, retrievers)]


def _by_rules(request: SearchRequest, retrievers: Mapping[str, Retriever]) -> Retriever:
    cues: Mapping[str, Sequence[str]] = table("research/phrases", request.lang).get("cues", {})
    queries = [stems(query, request.lang) for query in request.queries]
    for name, phrases in cues.items():
        stemmed_phrases = [stems(phrase, request.lang) for phrase in phrases]
        if name in retrievers and any(has_phrase(query, phrase) for query in queries for phrase in stemmed_phrases):
            return retrievers[name]
    return next(iter(retrievers.values()))


def listed(retrievers: Mapping[str, Retriever], lang: str) -> str:
    """Return the retrievers with their purposes, one a line."""
    return "\n".join(f"- {name}: {retriever.description(lang)}" for name, retriever in retrievers.items())


def foreign_document(document: FoundDocument) -> FoundDocument:
    """Return a document whose texts hold no invisible signs, and no marks that would cite a source."""
    text = _LINES.sub("\n\n", _BLANKS.sub(" ", without_marks(clean(document.text[:LONGEST_PASSAGE])))).strip()
    return replace(
        document,
        text=text,
        title=foreign_line(document.title),
        url=document.url if _is_address(document.url) else foreign_line(document.url),
        published=foreign_line(document.published or "") or None,
        image=foreign_image(document.image) if document.image else None,
    )


def foreign_image(image: Image) -> Image | None:
    """Return a picture with its web addresses; None if its own address is not on the web."""
    if not _is_address(image.url):
        return None
    return replace(
        image,
        title=foreign_line(image.title),
        thumbnail=image.thumbnail if _is_address(image.thumbnail) else "",
        mime_type=foreign_line(image.mime_type)[:40],
        page=image.page if _is_address(image.page) else "",
    )


def foreign_line(text: str) -> str:
    """Return a title or another short text in one line of limited length."""
    line = " ".join(without_marks(clean(text[:LONGEST_PASSAGE])).split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _is_address(url: str) -> bool:
    return len(url) <= LONGEST_ADDRESS and is_web(url)


def ranked(result: QueryResult) -> QueryResult:
    """Return a result with its documents in one order, by their ranks at the retrievers."""
    return replace(result, documents=fused([results.documents for results in result.collected]))


def cut(results: Sequence[QueryResult], limit: int) -> list[QueryResult]:
    """Return the first documents of each query, with texts cut so that all of them have room."""
    around = sum(_size(result.query) + _size(result.problem) + FRAME for result in results)
    most = (ROOM - around) // (LEAST + FRAME) // len(results)
    first = [replace(result, documents=result.documents[: max(min(limit, most), 1)]) for result in results]
    count = sum(len(result.documents) for result in first)
    longest = max((ROOM - around) // max(count, 1) - FRAME, SHORTEST)
    return [replace(result, documents=[_short(each, longest) for each in result.documents]) for result in first]


def shortened(text: str, longest: int) -> str:
    """Return the beginning of a text, at most so many characters as JSON, cut between two words."""
    short = text[:longest]
    while short and (size := _size(short)) > longest:
        short = short[: min(len(short) * longest // size, len(short) - 1)]
    if short == text:
        return text
    begin, gap, _ = short[:-1].rpartition(" ")
    return f"{begin if gap and len(begin) > len(short) // 2 else short[:-1]}…"


def _short(document: FoundDocument, longest: int) -> FoundDocument:
    title = shortened(document.title, longest // 3)
    return replace(document, title=title, text=shortened(document.text, longest - _size(title)))


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))


class Stopwatch:
    """Reports each finished step with its time."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._begun = tell, time.perf_counter()

    def over(self, step: Step, detail: str) -> None:
        """Report the end of a step, and begin to time the next one."""
        now = time.perf_counter()
        self._tell(step, detail, round((now - self._begun) * 1000))
        self._begun = now


async def search(
    request: SearchRequest, retrievers: Mapping[str, Retriever], watch: Stopwatch
) -> Sequence[QueryResult]:
    """Return the documents for each query, the best first, at most the requested number.

    Raises:
        NothingFound: no query has documents, or there is no such retriever.
    """
    chosen = choose(request, retrievers)
    watch.over("choose", ", ".join(retriever.name for retriever in chosen))
    results: Sequence[QueryResult] = await collect(request, chosen)
    watch.over("collect", _collected(results))
    results = [check(result, request.lang) for result in results]
    missing = [result.problem for result in results if result.problem]
    watch.over("check", f"documents for {len(results) - len(missing)} of {len(results)} queries")
    if len(missing) == len(results):
        raise NothingFound("\n".join(missing))
    results = [ranked(result) for result in results]
    watch.over("rank", f"{len(documents_of(results))} different documents")
    results = cut(results, request.limit)
    watch.over("cut", f"{len(documents_of(results))} documents")
    return results


async def collect(request: SearchRequest, retrievers: Sequence[Retriever]) -> list[QueryResult]:
    """Ask every retriever every query, all at once; failures are noted beside the results."""

    async def collected(query: str) -> QueryResult:
        answers = (asked(retriever, query, request.limit, request.lang) for retriever in retrievers)
        return QueryResult(query, [_as_data(results) for results in await asyncio.gather(*answers)])

    return await asyncio.gather(*(collected(query) for query in request.queries))


def check(result: QueryResult, lang: str) -> QueryResult:
    """Return the result, with words for a model if no retriever has found a document for its query."""
    if any(each.documents for each in result.collected):
        return result
    failures = "; ".join(f"{name}: {why}" for name, why in result.failures.items())
    key = "nothing_but_failures" if failures else "nothing_found"
    return replace(
        result, problem=sentence("research/phrases", key, lang, query=result.query[:LONGEST_NAMED], failures=failures)
    )


def _collected(results: Sequence[QueryResult]) -> str:
    """Return the results of the retrievers and their failures, for the reader of the trace."""
    count = sum(len(each.documents) for result in results for each in result.collected)
    failures = [f"{name} failed: {why}" for result in results for name, why in result.failures.items()]
    return "; ".join([f"{count} documents for {len(results)} queries", *dict.fromkeys(failures)])


def _as_data(results: Results) -> Results:
    failures = {name: foreign_line(why) for name, why in results.failures.items()}
    return Results([foreign_document(document) for document in results.documents], failures)


class NumberedDocument(BaseModel):
    """A passage as the model reads it."""

    text: str
    reference_keyword: int


class QueryDocuments(BaseModel):
    """What was found for one query; a query without documents has an `error` as well."""

    query: str
    documents: list[NumberedDocument]


class SearchPayload(BaseModel):
    """The payload: "success", or "partial" where a query has no documents."""

    status: str
    results: list[QueryDocuments]


def payload(results: Sequence[QueryResult], numbers: Sequence[int]) -> Json:
    """Return the payload for the model; `numbers` are those of all documents, in their order."""
    left, full = iter(numbers), set[int]()
    listed = []
    for result in results:
        documents = []
        for document in result.documents:
            number = next(left)
            # A document that an earlier query has in full is only named.
            text = (document.title or document.url) if number in full else _text(document)
            documents.append({"text": text, "reference_keyword": number})
            full.add(number)
        error = {"error": result.problem} if result.problem else {}
        listed.append({"query": result.query, "documents": documents, **error})
    status = "partial" if any(result.problem for result in results) else "success"
    return {"status": status, "results": listed}


def documents_of(results: Sequence[QueryResult]) -> list[FoundDocument]:
    """Return the documents of all queries in their order."""
    return [document for result in results for document in result.documents]


def sources_event(call: str, documents: Sequence[FoundDocument], numbers: Sequence[int]) -> Sources:
    """Return the sources of a call by their numbers."""
    sources = {
        str(number): CitedSource(title=document.title, url=document.url)
        for number, document in zip(numbers, documents, strict=True)
    }
    return Sources(id=call, sources=sources)


def images_event(call: str, documents: Sequence[FoundDocument]) -> Images | None:
    """Return the pictures of a call, each once; None without pictures."""
    images = {document.image.url: document.image for document in documents if document.image}
    shown = [cast(ShownImage, asdict(image)) for image in [*images.values()][:MOST_IMAGES]]
    return Images(id=call, images=shown) if shown else None


def _text(document: FoundDocument) -> str:
    dated = f" ({document.published})" if document.published else ""
    return f"{document.title}{dated}\n{document.text}" if document.title else document.text
