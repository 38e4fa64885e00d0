"""The pause that an answer over HTTP asks for: the headers Retry-After and retry-after-ms."""

import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a pause that an answer asks for: a number, or up to a date; None if it asks for none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return max(0.0, float(headers.get(name) or "") * unit)
    with suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(headers.get("retry-after") or "").timestamp() - time.time())
    return None
