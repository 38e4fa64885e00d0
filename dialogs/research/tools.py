"""The tool `search`: it finds documents and gives them numbers for the citations of the answer."""

from collections.abc import Sequence
from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.events import SearchStep, Step
from agents.events.views import Notice
from agents.language.text.clean import clean
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.call import this_turn
from agents.toolkit.context import emitter
from dialogs.research.search import (
    NothingFound,
    SearchPayload,
    SearchRequest,
    Stopwatch,
    choose,
    documents_of,
    images_event,
    payload,
    sources_event,
)
from dialogs.research.search import search as searched
from dialogs.research.services import Retrievers
from prompts import sentence

MOST_QUERIES, MOST_DOCUMENTS = 10, 10
Query = Annotated[str, Field(min_length=1, max_length=200)]


def _reaches_out(args: Json, runtime: Runtime) -> bool:
    """Tell whether this search sends its queries outside."""
    by_name = runtime.context.service(Retrievers).by_name
    try:
        chosen = choose(_request(args["queries"], args["sources"], args["limit"], runtime), by_name)
    except NothingFound:
        return False
    return any(retriever.reaches_out for retriever in chosen)


def _request(queries: Sequence[str], sources: Sequence[str] | None, limit: int, runtime: Runtime) -> SearchRequest:
    different = [*dict.fromkeys(" ".join(clean(query).split()) for query in queries)]
    return SearchRequest(different, runtime.state["lang"], limit, sources or ())


def _refused(nothing: str, runtime: Runtime, retrievers: Retrievers) -> Refused:
    """Return the refusal of an empty search; without a search of the web, it tells the user so, once a turn."""
    if retrievers.reach_out:
        return Refused(nothing)
    state = runtime.state
    alone = sentence("research/phrases", "documents_alone", state["lang"])
    is_told = any(alone in message.text for message in this_turn(state.get("talk", ()), state["heard"]["id"]))
    return Refused(f"{nothing}\n{alone}", None if is_told else Notice(message=alone))


@traits(
    foreign=True,
    egress=_reaches_out,
    carries=("queries",),
    asks_once=True,
    volatile=True,
    cited=True,
    result=SearchPayload,
)
@tool(response_format="content_and_artifact")
async def search(
    queries: Annotated[list[Query], Field(min_length=1, max_length=MOST_QUERIES)],
    runtime: Runtime,
    sources: list[str] | None = None,
    limit: Annotated[int, Field(ge=1, le=MOST_DOCUMENTS)] = 5,
) -> Answer:
    """Find documents. Cite what you use as [source=[0, 1]], by reference_keyword.

    queries: one for each thing to look up.
    sources: by name; left out, the fitting one is chosen.
    limit: documents per query.
    """
    call, emit = runtime.tool_call_id or "", emitter(runtime)

    def tell(step: Step, detail: str, ms: int) -> None:
        emit(SearchStep(speaker=runtime.state["speaker"], id=call, step=step, detail=detail, ms=ms))

    watch = Stopwatch(tell)
    request, retrievers = _request(queries, sources, limit, runtime), runtime.context.service(Retrievers)
    try:
        results = await searched(request, retrievers.by_name, watch)
    except NothingFound as nothing:
        raise _refused(str(nothing), runtime, retrievers) from None
    documents = documents_of(results)
    texts = [(document.title, document.url, document.text) for document in documents]
    numbers = await runtime.state["sources"].number(call, texts)
    emit(sources_event(call, documents, numbers))
    if images := images_event(call, documents):
        emit(images)
    watch.over("answer", f"sources {min(numbers)} to {max(numbers)}")
    return result(payload(results, numbers))
