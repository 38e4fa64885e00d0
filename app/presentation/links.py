"""Addresses behind links, as people read them."""

import unicodedata
from urllib.parse import urlsplit

from httpx import URL, InvalidURL


def in_full(url: str) -> str:
    """Return an address as it reads; a host whose letters may only look like others also as it is asked for."""
    host = urlsplit(url).hostname or ""
    if host.isascii():
        return url
    try:
        # Python's own codec asks for other hosts than browsers do: it makes "ss" of "ß".
        return f"{url} ({URL(scheme='https', host=unicodedata.normalize('NFKC', host)).raw_host.decode()})"
    except InvalidURL:
        return f"{url} (?)"


def is_told_by(url: str, text: str) -> bool:
    """Tell whether a text says where the link behind it leads: the address, with or without its scheme."""
    if in_full(url) != url:
        return False
    text, address = text.strip().casefold().rstrip("/"), url.strip().casefold().rstrip("/")
    return text in (address, address.partition("://")[2], urlsplit(address).netloc)
