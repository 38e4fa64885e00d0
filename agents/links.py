"""Links that may be shown."""

from urllib.parse import urlsplit


def is_web(url: str) -> bool:
    """Tell whether a link leads to the web, and nowhere else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(c.isspace() for c in url)
