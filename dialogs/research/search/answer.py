"""The step "answer": what a model reads of a search, and what people are told at once."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from pydantic import BaseModel

from agents.events import Images, ShownImage, Sources
from agents.state.citations import Source
from agents.state.talk import Json
from dialogs.research.retrievers import Document
from dialogs.research.search import QueryResult

MOST_IMAGES = 20


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
    """Return what the model reads; `numbers` are those of all documents, in their order."""
    left = iter(numbers)
    listed = []
    for result in results:
        documents = [{"text": _text(document), "reference_keyword": next(left)} for document in result.documents]
        error = {"error": result.problem} if result.problem else {}
        listed.append({"query": result.query, "documents": documents, **error})
    status = "partial" if any(result.problem for result in results) else "success"
    return {"status": status, "results": listed}


def documents_of(results: Sequence[QueryResult]) -> list[Document]:
    """Return the documents of all queries in their order."""
    return [document for result in results for document in result.documents]


def sources_event(call: str, documents: Sequence[Document], numbers: Sequence[int]) -> Sources:
    """Return the sources of a call by their numbers."""
    sources = {
        str(number): Source(title=document.title, url=document.url)
        for number, document in zip(numbers, documents, strict=True)
    }
    return Sources(id=call, sources=sources)


def images_event(call: str, documents: Sequence[Document]) -> Images | None:
    """Return the pictures of a call, each once; None if it found none."""
    images = {document.image.url: document.image for document in documents if document.image}
    shown = [cast(ShownImage, asdict(image)) for image in [*images.values()][:MOST_IMAGES]]
    return Images(id=call, images=shown) if shown else None


def _text(document: Document) -> str:
    """Return a passage below its title and date."""
    dated = f" ({document.published})" if document.published else ""
    return f"{document.title}{dated}\n{document.text}" if document.title else document.text
