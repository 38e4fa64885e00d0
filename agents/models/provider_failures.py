"""What the failures of any provider's client mean, read from the attributes that clients share.

No client is imported: a package that is not installed cannot fail.
"""

import re

from agents.errors import Trouble

OVERFLOW = re.compile(
    r"context[ _](length|size|window)|too many tokens|number of tokens|token count|prompt is too long|input is too long"
    r"|too large for model",
    re.IGNORECASE,
)
"""How servers say that a prompt is too long."""
NO_KEY = re.compile(r"authentication method|api[ _]key", re.IGNORECASE)
"""How servers and clients say, with another status or with none, that the key is wrong or missing."""
BUSY = (408, 409, 425, 429)
"""Statuses of a server that takes the same request later; so do all from 500 on."""
TRANSPORT = frozenset({"httpx", "httpx2", "aiohttp", "requests", "urllib3", "grpc"})
"""The packages that carry requests. Clients pass some of their exceptions on as they are: a connection was lost."""


def is_failure(failure: BaseException) -> bool:
    """Tell whether an exception is one of a provider's client, and not an error of ours."""
    packages = {kind.__module__.partition(".")[0] for kind in type(failure).__mro__}
    integrations = {package for package in packages if package.startswith("langchain_")} - {"langchain_core"}
    return isinstance(failure, OSError) or bool(packages & TRANSPORT or integrations) or status(failure) is not None


def status(failure: BaseException) -> int | None:
    """Return the HTTP status that the exception or its cause carries, or None."""
    for carrier in (failure, failure.__cause__):
        for holder in (carrier, getattr(carrier, "response", None)):
            for name in ("status_code", "code"):
                number = getattr(holder, name, None)
                if isinstance(number, int) and not isinstance(number, bool):
                    return number
    return None


def trouble(failure: BaseException) -> Trouble:
    """Say what a failure means, by its status and its words."""
    number = status(failure)
    if number in (401, 403) or (number in (None, 400) and NO_KEY.search(str(failure))):
        return "key_refused"
    if number in (400, 413, 422) and OVERFLOW.search(str(failure)):
        return "too_long"
    return "busy" if number is not None and (number in BUSY or number >= 500) else "unavailable"
