"""Tell what a provider's failure means: whether to ask again, and what an operator should know.

Where LangChain's exceptions do not say it, a module for the provider does, such as `openai_failures`.
"""

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
)

from agents.errors import Trouble
from agents.models import openai_failures

PROVIDERS = (openai_failures,)
FAILURES: tuple[type[Exception], ...] = (ModelError, *(kind for provider in PROVIDERS for kind in provider.FAILURES))
NONSENSE = (ValueError, TypeError, AttributeError, LookupError)
"""Errors of the libraries when a provider sends a malformed piece of a reply."""


def diagnose(failure: Exception) -> Trouble:
    """Return the trouble that an operator reads for a provider's failure."""
    if isinstance(failure, ModelAuthenticationError | ModelPermissionDeniedError):
        return "key_refused"
    if isinstance(failure, ContextOverflowError) or any(provider.overflows(failure) for provider in PROVIDERS):
        return "too_long"
    retryable = getattr(failure, "is_retryable", False) and not isinstance(failure, ModelConnectionError)
    return "busy" if retryable else "unavailable"


def broke(failure: Exception, *, begun: bool) -> bool:
    """Tell whether a reply was garbled, or broke off once it had begun: a provider's client does not retry that."""
    # A silence before the first piece of a stream is a `TimeoutError`.
    in_stream = isinstance(failure, TimeoutError) or any(provider.was_streaming(failure) for provider in PROVIDERS)
    return isinstance(failure, NONSENSE) or in_stream or (begun and isinstance(failure, FAILURES))
