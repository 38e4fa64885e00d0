"""What a provider's failures mean: whether to ask again, and what to tell whoever runs the application.

What LangChain's exceptions do not say is asked of one module a provider, such as `openai_failures`.
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
"""What the libraries trip over when a provider sends what is no piece of a reply."""


def diagnose(failure: Exception) -> Trouble:
    """Say what a provider's failure means for whoever runs the application."""
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
