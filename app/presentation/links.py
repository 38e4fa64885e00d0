"""Addresses behind links, as people read them."""

from urllib.parse import urlsplit


def in_full(url: str) -> str:
    """Return an address as it reads; a host whose letters may only look like others also as it is asked for."""
    host = urlsplit(url).hostname or ""
    try:
        return url if host.isascii() else f"{url} ({host.encode('idna').decode()})"
    except UnicodeError:
        return f"{url} (?)"


def is_told_by(url: str, text: str) -> bool:
    """Tell whether a text says where the link behind it leads: the address, with or without its scheme."""
    if in_full(url) != url:
        return False
    text, address = text.strip().casefold().rstrip("/"), url.strip().casefold().rstrip("/")
    return text in (address, address.partition("://")[2], urlsplit(address).netloc)
