"""Links that may be shown."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit


def is_web(url: str) -> bool:
    """Tell whether a link leads to the web, and nowhere else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(c.isspace() for c in url)


def linked(data: object) -> list[Mapping[str, Any]]:
    """Return what has an address in plain data, however deep."""
    if isinstance(data, Mapping):
        own = [data] if data.get("url") else []
        return own + [found for value in data.values() for found in linked(value)]
    return [found for value in data for found in linked(value)] if isinstance(data, list | tuple) else []
