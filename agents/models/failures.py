"""What a provider's failures mean: whether to ask again, and what to tell whoever runs the application."""

import re
import traceback

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
)
from openai import APIError, APIStatusError, AsyncStream, OpenAIError

from agents.errors import Trouble

FAILURES = (ModelError, OpenAIError)
NONSENSE = (ValueError, TypeError, AttributeError, LookupError)
"""What the libraries trip over when a provider sends what is no piece of a reply."""
OVERFLOW = re.compile(r"context[ _](length|size|window)|too many tokens|number of tokens|too large for model", re.I)
"""How servers word it, or call it, that the LangChain integration does not know."""
# By its method: the class itself is said to be of the package.
STREAM = AsyncStream.__aiter__.__module__
"""The module in which the client reads streams."""


def diagnose(failure: Exception) -> Trouble:
    """Say what a provider's failure means for whoever runs the application."""
    if isinstance(failure, ModelAuthenticationError | ModelPermissionDeniedError):
        return "key_refused"
    if isinstance(failure, ContextOverflowError) or _overflows(failure):
        return "too_long"
    retryable = getattr(failure, "is_retryable", False) and not isinstance(failure, ModelConnectionError)
    return "busy" if retryable else "unavailable"


def _overflows(failure: Exception) -> bool:
    if not isinstance(failure, APIStatusError) or failure.status_code not in (400, 413):
        return False
    return bool(OVERFLOW.search(f"{failure} {failure.code} {failure.type}"))


def broke(failure: Exception, *, begun: bool) -> bool:
    """Tell whether a reply was garbled, or broke off once it had begun: a provider's client does not retry that."""
    # Only a stream raises these two as they are: a silence before its first piece, an error sent in its place.
    in_stream = isinstance(failure, TimeoutError) or type(failure) is APIError or _was_streaming(failure)
    return isinstance(failure, NONSENSE) or in_stream or (begun and isinstance(failure, FAILURES))


def _was_streaming(failure: BaseException) -> bool:
    """Tell whether a connection was lost behind the headers; by its type the failure might be one before them."""
    while isinstance(failure.__cause__, APIError):
        failure = failure.__cause__
    frames = traceback.walk_tb(failure.__traceback__)
    return any(frame.f_globals.get("__name__") == STREAM for frame, _ in frames)
