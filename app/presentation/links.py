"""Addresses behind links, in a form for readers."""

import unicodedata
from urllib.parse import urlsplit

from httpx import URL, InvalidURL


def in_full(url: str) -> str:
    """Return an address for readers; a host with letters that may look like others also in its form for the network."""
    host = urlsplit(url).hostname or ""
    if host.isascii():
        return url
    try:
        # Python's own codec gives other hosts than browsers do: it makes "ss" of "ß".
        return f"{url} ({URL(scheme='https', host=unicodedata.normalize('NFKC', host)).raw_host.decode()})"
    except InvalidURL:
        return f"{url} (?)"


def is_told_by(url: str, text: str) -> bool:
    """Tell whether a text is the address of the link behind it, with or without its scheme."""
    if in_full(url) != url:
        return False
    text, address = text.strip().casefold().rstrip("/"), url.strip().casefold().rstrip("/")
    return text in (address, address.partition("://")[2], urlsplit(address).netloc)
