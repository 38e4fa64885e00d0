"""Links that may be shown."""

from collections.abc import Mapping
from urllib.parse import urlsplit


def is_web(url: str) -> bool:
    """Tell whether a link leads to the web, and nowhere else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(c.isspace() for c in url)


def linked(data: object) -> list[Mapping[str, str]]:
    """Return the objects in plain data that have a `url`, at any depth."""
    if isinstance(data, Mapping):
        own = [data] if data.get("url") else []
        return own + [inner for value in data.values() for inner in linked(value)]
    return [inner for value in data for inner in linked(value)] if isinstance(data, list | tuple) else []
