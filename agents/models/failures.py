"""Tell what a provider's failure means: whether to ask again, and what an operator should know.

LangChain's own exceptions are asked first, then the OpenAI client's, then the attributes that all clients share. No
client is imported for that: the OpenAI client takes a second to load, and what was never loaded cannot have failed.
"""

import os
import re
import socket
import sys
import traceback

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
)

from agents.errors import Trouble

NONSENSE = (ValueError, TypeError, AttributeError, LookupError)
"""Errors of the libraries when a provider sends a malformed piece of a reply."""
OVERFLOW = re.compile(
    r"context[ _](length|size|window)|too many tokens|number of tokens|token count|prompt is too long|input is too long"
    r"|too large for model",
    re.IGNORECASE,
)
NO_KEY = re.compile(r"authentication method|api[ _]key", re.IGNORECASE)
"""How servers and clients say, with another status or with none, that the key is wrong or missing."""
BUSY = (408, 409, 425, 429)
"""Statuses of a server that takes the same request later; so do all from 500 on."""
TRANSPORT = frozenset({"httpx", "httpx2", "aiohttp", "requests", "urllib3", "grpc"})
"""The packages that carry requests. Clients pass some of their exceptions on as they are: a connection was lost."""
STREAM = "openai._streaming"
"""The module in which the OpenAI client reads streams."""


def is_failure(failure: Exception) -> bool:
    """Tell whether an exception that came out of a model's call is the provider's, and not an error of ours."""
    packages = {kind.__module__.partition(".")[0] for kind in type(failure).__mro__}
    integrations = {package for package in packages if package.startswith("langchain_")} - {"langchain_core"}
    is_transport = isinstance(failure, OSError) or bool(packages & TRANSPORT or integrations)
    return is_models(failure) or is_transport or status(failure) is not None


def is_models(failure: Exception) -> bool:
    """Tell whether only a model's client raises such an exception, and no tool."""
    return isinstance(failure, ModelError) or _is_openai(failure)


def diagnose(failure: Exception) -> Trouble:
    """Return the trouble that an operator reads for a provider's failure."""
    if isinstance(failure, ModelAuthenticationError | ModelPermissionDeniedError):
        return "key_refused"
    if isinstance(failure, ContextOverflowError) or _overflows(failure):
        return "too_long"
    is_retryable = getattr(failure, "is_retryable", False)
    if _is_openai(failure) or is_retryable:
        return "busy" if is_retryable and not isinstance(failure, ModelConnectionError) else "unavailable"
    number = status(failure)
    if number in (401, 403) or (number in (None, 400) and NO_KEY.search(str(failure))):
        return "key_refused"
    return "busy" if number is not None and (number in BUSY or number >= 500) else "unavailable"


def broke(failure: Exception, *, begun: bool) -> bool:
    """Tell whether a reply was garbled, or broke off once it had begun: a provider's client does not retry that."""
    # A silence before the first piece of a stream is a `TimeoutError`.
    in_stream = isinstance(failure, TimeoutError) or _was_streaming(failure)
    is_nonsense = isinstance(failure, NONSENSE) and not is_failure(failure)
    return is_nonsense or in_stream or (begun and is_failure(failure))


def cause_of(failure: BaseException) -> str:
    """Return in a few words what happened: the status, the operating system's reason, else the kind of failure.

    Nothing of what the other side said is quoted.
    """
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
    """Return the HTTP status that the exception or its cause carries, or None."""
    for carrier in (failure, failure.__cause__):
        for holder in (carrier, getattr(carrier, "response", None)):
            for name in ("status_code", "code"):
                number = getattr(holder, name, None)
                if isinstance(number, int) and not isinstance(number, bool):
                    return number
    return None


def _overflows(failure: Exception) -> bool:
    words = f"{failure} {getattr(failure, 'code', '')} {getattr(failure, 'type', '')}"
    return status(failure) in (400, 413, 422) and OVERFLOW.search(words) is not None


def _is_openai(failure: BaseException) -> bool:
    if "openai" not in sys.modules:
        return False
    from openai import OpenAIError  # noqa: PLC0415

    return isinstance(failure, OpenAIError)


def _was_streaming(failure: BaseException) -> bool:
    """Tell whether a stream broke off after the headers; the type of the failure does not say so."""
    if "openai" not in sys.modules:
        return False
    from openai import APIError  # noqa: PLC0415

    if type(failure) is APIError:
        # Only a stream raises it as it is: an error that is sent in place of a piece.
        return True
    while isinstance(failure.__cause__, APIError):
        failure = failure.__cause__
    frames = traceback.walk_tb(failure.__traceback__)
    return any(frame.f_globals.get("__name__") == STREAM for frame, _ in frames)
