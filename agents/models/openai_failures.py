"""Tell failures of the OpenAI client apart where LangChain's own exceptions do not.

The client takes a second to load. Nobody who does without it shall wait: what was never loaded cannot have failed.
"""

import re
import sys
import traceback

OVERFLOW = re.compile(r"context[ _](length|size|window)|too many tokens|number of tokens|too large for model", re.I)
"""Words of servers for a prompt that is too long, which the LangChain integration does not know."""
STREAM = "openai._streaming"
"""The module in which the client reads streams."""


def is_failure(failure: BaseException) -> bool:
    """Tell whether an exception is one of the client's own."""
    if "openai" not in sys.modules:
        return False
    from openai import OpenAIError  # noqa: PLC0415

    return isinstance(failure, OpenAIError)


def overflows(failure: Exception) -> bool:
    """Tell whether the server refused a prompt because it is too long."""
    if not is_failure(failure):
        return False
    from openai import APIStatusError  # noqa: PLC0415

    if not isinstance(failure, APIStatusError) or failure.status_code not in (400, 413):
        return False
    return bool(OVERFLOW.search(f"{failure} {failure.code} {failure.type}"))


def was_streaming(failure: BaseException) -> bool:
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
