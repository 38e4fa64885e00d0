"""Links that may be shown."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from agents.language.text.clean import clean


def is_web(url: str) -> bool:
    """Tell whether a link leads to the web, and where it seems to lead.

    A name before the host, a backslash and letters that nobody sees let one address pass for another.
    """
    try:
        parts, text = urlsplit(url), clean(url)
    except ValueError:
        return False
    is_plain = text == url and url.isprintable() and not any(c.isspace() or c in '\\<>"' for c in url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and is_plain


def is_told_by(url: str, text: str) -> bool:
    """Tell whether a text says where the link behind it leads: the address, with or without its scheme."""
    text, address = text.strip().casefold().rstrip("/"), url.strip().casefold().rstrip("/")
    return text in (address, address.partition("://")[2], urlsplit(address).netloc)


def linked(data: object) -> list[Mapping[str, str]]:
    """Return the objects in plain data that have a `url`, at any depth."""
    if isinstance(data, Mapping):
        own = [data] if data.get("url") else []
        return own + [inner for value in data.values() for inner in linked(value)]
    return [inner for value in data for inner in linked(value)] if isinstance(data, list | tuple) else []
