"""The meaning of a provider's failure: whether to ask again, and its cause for the operator.

No client is imported for that: the OpenAI client takes a second to load, and a client that is not loaded cannot fail.
"""

import os
import re
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
)
from pydantic import ValidationError

from agents.errors import BrokenReply, DialogSupervisorError, Overflow, Trouble, UselessReply
from agents.models.refusal import BODIES, refusal_of
from agents.models.wordings import named_in, says
from agents.retry_after import asked_pause

NONSENSE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors of the libraries when a provider sends a malformed piece of a reply."""
COUNTS = (("n_ctx", "window"), ("n_prompt_tokens", "prompt"))
"""llama.cpp's fields for the tokens that a model takes, and was given; other servers use words."""
MOST_SAID, QUOTED = 200, 16
"""Characters of a server's words for the operator, and those in a row that count as a quotation of a message."""
NO_LETTER_BEFORE, NO_LETTER = "(?<![a-zа-яё])", "(?![a-zа-яё])"
"""The borders of a word. A short message is repeated only as whole words: "this" does not repeat "hi"."""
QUOTE = re.compile(r"[\"'`“‘«]([^\"'`”’»]{2,})")
KEY = re.compile(r"\bsk-\S+|\S*\*{3}\S*|\b(?=[\w-]*\d)(?=[\w-]*[^\W\d])[\w-]{20,}")
LISTED = re.compile(r"[{\\]|\[(?!(?:\d+|'[\w.]+')(?:, ?(?:\d+|'[\w.]+'))*\])")
"""The place where a sentence may begin to repeat the request; lists of numbers and of names do not."""
OURS = frozenset(("agents", "app", "dialogs", "observers", "prompts", "tests", "langchain", "langgraph", "pydantic"))
"""Packages whose exceptions do not come from a provider."""
WORD = re.compile(r"\w+")
FIRST_FAULT = 400
"""The first status of a request without an answer."""
STATUS = re.compile("[1-5][0-9]{2}")
BUSY = (408, 409, 425, 429)
"""Statuses of a server that may take the same request later; so are all from 500 on but `NEVER`."""
NEVER = 501
KEY_OR_MONEY = (401, 402, 407)
TRANSPORT = frozenset({"httpx", "httpx2", "aiohttp", "requests", "urllib3", "grpc"})
"""The packages that carry requests. Clients pass some of their exceptions on: a connection was lost."""
WRITTEN = "failed_generation"
"""The key of an answer under which a server shows the words of its model that it could not read."""
UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def is_failure(failure: BaseException) -> bool:
    """Tell whether an exception of a model's call is the provider's, and not an error of ours."""
    return is_models(failure) or _is_transport(failure) or status(failure) is not None or bool(_clients(failure))


def _is_transport(failure: BaseException) -> bool:
    """Tell whether a connection was lost; many clients raise an exception of their own, with the loss as its cause."""
    lost = failure.__cause__ if failure.__cause__ and _clients(failure) - TRANSPORT else failure
    return status(failure) is None and (isinstance(lost, OSError) or bool(_clients(lost) & TRANSPORT))


def _clients(failure: BaseException) -> set[str]:
    """Return the packages of an exception's classes that may be a provider's client."""
    packages = {kind.__module__.partition(".")[0].removesuffix("_core") for kind in type(failure).__mro__}
    return packages - sys.stdlib_module_names - OURS


def is_models(failure: BaseException) -> bool:
    """Tell whether only a model's client raises such an exception, and no tool."""
    openai = sys.modules.get("openai")
    return isinstance(failure, ModelError) or (openai is not None and isinstance(failure, openai.OpenAIError))


def diagnose(failure: Exception) -> Trouble:
    """Return the trouble that an operator reads for a provider's failure."""
    if overflow_of(failure):
        return "too_long"
    number, refusal = status(failure), refusal_of(failure)
    if (number or _stands_in_answer(failure)) and is_refusal(failure) and says("filtered", refusal.words):
        return "refused"
    is_keys = isinstance(failure, ModelAuthenticationError | ModelPermissionDeniedError) or number in (401, 403)
    if is_keys or (number in (None, 400, 422) and says("no_key", f"{failure} {refusal.words}")):
        return "key_refused"
    passes = says("passing", refusal.words)
    if isinstance(failure, ModelConnectionError) or (says("unpaid", refusal.words) and not passes):
        return "unavailable"
    is_busy = number is not None and number != NEVER and (number in BUSY or number >= 500)
    if not is_busy and _stands_in_answer(failure):
        is_lasting = (
            is_sure(failure) or "event-stream" not in _media_type(failure) or says("wrong", "\n".join(refusal.codes))
        )
        return "unavailable" if is_lasting and not passes else "busy"
    return "busy" if is_busy or getattr(failure, "is_retryable", False) else "unavailable"


def is_passing(failure: Exception) -> bool:
    """Tell whether the same request may well be answered soon: the server is busy, or the connection was lost."""
    if not is_failure(failure) or _broke(failure, begun=False) or overflow_of(failure):
        return False
    is_lost = isinstance(failure, ModelConnectionError) or _is_transport(failure)
    return is_lost or diagnose(failure) == "busy"


def retry_after(failure: Exception) -> float | None:
    """Return the seconds after which a server wants to be asked again; None if it names none."""
    for carrier in filter(None, (failure, failure.__cause__)):
        headers = getattr(getattr(carrier, "response", carrier), "headers", None)
        if isinstance(headers, Mapping) and (pause := asked_pause(headers)) is not None:
            return pause
    return None


def is_refusal(failure: BaseException) -> bool:
    """Tell whether a failure may be about the request's content: statuses tell little, and a stream has none."""
    number = status(failure)
    is_about = number is None or (FIRST_FAULT <= number <= NEVER and number not in (*KEY_OR_MONEY, *BUSY))
    return is_about and not _is_misread(failure)


def _is_misread(failure: BaseException) -> bool:
    """Tell whether a server could not read its own model's words: it shows them, or says so."""
    refusal = refusal_of(failure)
    return WRITTEN in refusal.keys or says("misread", refusal.words)


def is_sure(failure: BaseException) -> bool:
    """Tell whether a failure surely is about the request: errors of servers and in mid-stream mostly are not."""
    number = status(failure)
    return (FIRST_FAULT <= number < FIRST_FAULT + 100) if number else not is_failure(failure)


def names_pictures(failure: BaseException) -> bool:
    """Tell whether a server speaks of pictures."""
    return says("picture", refusal_of(failure).words)


def overflow_of(failure: Exception) -> Overflow | None:
    """Return the overflow of the model's context window; None if that was not the failure."""
    is_known = isinstance(failure, ContextOverflowError)
    if not is_known and not is_refusal(failure):
        return None
    refusal = refusal_of(failure)
    if not is_known and (not says("too_long", refusal.words) or says("passing", refusal.words)):
        return None
    counts = (refusal.counts.get(name) or named_in(kind, refusal.words) for name, kind in COUNTS)
    return Overflow(*(int(count) if count else None for count in counts))


def unsound_reply(failure: Exception, request: str | None, *, begun: bool) -> DialogSupervisorError | None:
    """Return the error of a reply that failed without a further try; None: the failure is the server's own.

    `request` is the text of the request that the client took; None: it did not even take one.
    """
    if not begun and (fault := _fault_of_ours(failure, request)):
        return UselessReply("unavailable", fault)
    if not _broke(failure, begun=begun):
        return None
    trouble = diagnose(failure) if not begun and _stands_in_answer(failure) else "busy"
    reason = cause_of(failure)
    if _stands_in_answer(failure):
        is_page = "html" in _media_type(failure)
        reason = "a web page in place of a reply, check the address" if is_page else "an error in place of a reply"
    elif isinstance(failure, NONSENSE):
        # LangChain raises a bare one where nothing of a reply came.
        is_empty = type(failure) is ValueError and not begun
        reason = "no reply, check the address" if is_empty else f"a piece that nobody can read, {reason}"
    return BrokenReply(reason) if trouble == "busy" else UselessReply(trouble, reason)


def _fault_of_ours(failure: Exception, request: str | None) -> str | None:
    """Return the faults that a client finds in a request before it sends it, by the names of fields; None if none.

    An unknown option can only be ours, and so can a wrong value that stands in the request. Any other fault may be in
    the reply.
    """
    if is_failure(failure) or not isinstance(failure, NONSENSE):
        return None
    fields = UNEXPECTED.findall(str(failure))
    is_ours = request is None or bool(fields)
    if isinstance(failure, ValidationError):
        errors = failure.errors()
        fields = [".".join(map(str, error["loc"])) for error in errors[:3]]
        values = {*WORD.findall(repr([error["input"] for error in errors]))}
        is_ours = is_ours or values <= {*WORD.findall(request or "")}
    named = f" of {', '.join(fields)}" if fields else ""
    return f"the request could not be made: {type(failure).__name__}{named}" if is_ours else None


def _broke(failure: Exception, *, begun: bool) -> bool:
    """Tell whether a reply was garbled, or broke off once it had begun: then no further try was made."""
    if not is_failure(failure):
        return isinstance(failure, (*NONSENSE, TimeoutError))
    # A silence before the first piece of a stream is a `TimeoutError`.
    is_broken = begun or isinstance(failure, TimeoutError) or _stands_in_answer(failure) or _is_misread(failure)
    return is_broken and not overflow_of(failure)


def _media_type(failure: Exception) -> str:
    """Return the media type of a server's answer; without one it is a stream."""
    headers = getattr(getattr(failure, "response", None), "headers", {})
    return str(headers.get("content-type", "text/event-stream"))


def _stands_in_answer(failure: Exception) -> bool:
    """Tell whether a server sent an error in place of a reply or a piece of it, without an error status."""
    is_refused = any(number >= FIRST_FAULT for number in _statuses(failure)[:1])
    is_refusal = isinstance(failure, ModelError) or is_refused or _is_transport(failure)
    return not is_refusal and any(getattr(failure, name, None) for name in (*BODIES, "response"))


def is_other_form(failure: BaseException, wire: str) -> bool:
    """Tell whether a server refuses a request in the form `wire` because it takes OpenAI's other form."""
    if not is_refusal(failure):
        return False
    words = refusal_of(failure).words
    if wire == "chat":
        return says("responses", words)
    is_no_path = status(failure) in (404, 405) and "model" not in words.lower()
    return is_no_path or says("completions", words)


def server_words(failure: Exception, heard: Sequence[str], secrets: Iterable[str]) -> str:
    """Return a server's words on a request that it does not answer, behind a colon, for the operator."""
    number = status(failure)
    is_said = (number or 0) >= FIRST_FAULT or _stands_in_answer(failure)
    if not is_said or (number in (401, 403) and diagnose(failure) == "key_refused"):
        return ""
    sentences = [" ".join(LISTED.split(sentence)[0].split()) for sentence in refusal_of(failure).sentences]
    words = tellable("; ".join(dict.fromkeys(filter(None, sentences))), heard, secrets)
    return f": {words}" if words else ""


def tellable(words: str, heard: Sequence[str], secrets: Iterable[str]) -> str:
    """Return words for the operator: up to where they repeat a message (`heard`), and without keys (`secrets`)."""
    small, texts = words.casefold(), [" ".join(text.casefold().split()) for text in heard]
    all_texts = "\n".join(texts)
    ends = [
        place for place in range(len(small)) if len(run := small[place : place + QUOTED]) == QUOTED and run in all_texts
    ]
    parts = (re.search(f"{NO_LETTER_BEFORE}{re.escape(text)}{NO_LETTER}", small) for text in texts if len(text) > 1)
    ends += [part.start() for part in parts if part]
    ends += [quote.start() for quote in QUOTE.finditer(small) if quote[1] in all_texts]
    clean = words[: min(ends, default=len(words))]
    for secret in secrets:
        clean = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", clean)
    clean = KEY.sub("…", clean)[:MOST_SAID].strip()
    return "".join(char for char in clean if char.isprintable())


def cause_of(failure: BaseException) -> str:
    """Return the cause in a few words, none of them the server's: a status, a system's reason, or a class."""
    if (number := status(failure)) is not None:
        return f"HTTP {number}"
    kind, visited = type(failure).__name__, set[int]()
    inner: BaseException | None = failure
    while inner is not None and id(inner) not in visited:
        visited.add(id(inner))
        if isinstance(inner, TimeoutError) or "Timeout" in type(inner).__name__:
            return "no answer in time"
        if isinstance(inner, socket.gaierror):
            return "there is no such host"
        if isinstance(inner, OSError) and inner.errno:
            return os.strerror(inner.errno).lower()
        inner = inner.__cause__ or inner.__context__
    return kind


def status(failure: BaseException) -> int | None:
    """Return the HTTP status of a fault that the exception or its cause carries, or None."""
    return next((number for number in _statuses(failure) if number >= FIRST_FAULT), None)


def _statuses(failure: BaseException) -> list[int]:
    """Return the statuses that the exception and its cause carry, that of the answer first."""
    holders = [holder for each in (failure, failure.__cause__) for holder in (each, getattr(each, "response", None))]
    texts = [str(getattr(holder, name, None)) for holder in holders for name in ("status_code", "code")]
    return [int(text) for text in texts if STATUS.fullmatch(text)]
