"""Tell what a provider's failure means: whether to ask again, and what an operator should know.

LangChain's own exceptions are asked first, then the module of the OpenAI client, then what all clients share.
"""

import os
import socket

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
)

from agents.errors import Trouble
from agents.models import openai_failures, provider_failures

NONSENSE = (ValueError, TypeError, AttributeError, LookupError)
"""Errors of the libraries when a provider sends a malformed piece of a reply."""


def is_failure(failure: Exception) -> bool:
    """Tell whether an exception that came out of a model's call is the provider's."""
    return is_models(failure) or provider_failures.is_failure(failure)


def is_models(failure: Exception) -> bool:
    """Tell whether only a model's client raises such an exception, and no tool."""
    return isinstance(failure, ModelError) or openai_failures.is_failure(failure)


def diagnose(failure: Exception) -> Trouble:
    """Return the trouble that an operator reads for a provider's failure."""
    if isinstance(failure, ModelAuthenticationError | ModelPermissionDeniedError):
        return "key_refused"
    if isinstance(failure, ContextOverflowError) or openai_failures.overflows(failure):
        return "too_long"
    if openai_failures.is_failure(failure) or getattr(failure, "is_retryable", False):
        retryable = getattr(failure, "is_retryable", False) and not isinstance(failure, ModelConnectionError)
        return "busy" if retryable else "unavailable"
    return provider_failures.trouble(failure)


def broke(failure: Exception, *, begun: bool) -> bool:
    """Tell whether a reply was garbled, or broke off once it had begun: a provider's client does not retry that."""
    # A silence before the first piece of a stream is a `TimeoutError`.
    in_stream = isinstance(failure, TimeoutError) or openai_failures.was_streaming(failure)
    is_nonsense = isinstance(failure, NONSENSE) and not is_failure(failure)
    return is_nonsense or in_stream or (begun and is_failure(failure))


def cause_of(failure: BaseException) -> str:
    """Return in a few words what happened: the status, the operating system's reason, else the kind of failure.

    Nothing of what the other side said is quoted.
    """
    if (number := provider_failures.status(failure)) is not None:
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
