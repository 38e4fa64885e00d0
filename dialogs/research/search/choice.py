"""The step "choose": which retriever answers a request, by the model's word or by rules."""

from collections.abc import Mapping, Sequence

from agents.language.text.stems import stems
from dialogs.research.retrievers import Retriever
from dialogs.research.search import NothingFound, SearchRequest
from prompts import sentence, table


def choose(request: SearchRequest, retrievers: Mapping[str, Retriever]) -> list[Retriever]:
    """Return the retrievers that the model names; else the one whose words a query has; else the first.

    Raises:
        NothingFound: there is none, or none of a name.
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
        if name in retrievers and any(_has(query, phrase) for query in queries for phrase in stemmed_phrases):
            return retrievers[name]
    return next(iter(retrievers.values()))


def listed(retrievers: Mapping[str, Retriever], lang: str) -> str:
    """Return the retrievers with what each is good for, one a line."""
    return "\n".join(f"- {name}: {retriever.description(lang)}" for name, retriever in retrievers.items())


def _has(query: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any([*query[place : place + size]] == [*phrase] for place in range(len(query) - size + 1))
