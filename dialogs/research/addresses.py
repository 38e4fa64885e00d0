"""Web addresses in one form: different spellings of one page are equal."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

PORTS = {"http": 80, "https": 443}
# Parameters that only tell a site where its visitors come from.
_TRACKING = re.compile(
    "utm_|mtm_|pk_|(gclid|fbclid|yclid|msclkid|dclid|igshid|mc_cid|mc_eid|_openstat)$", re.IGNORECASE
)


def canonical(url: str) -> str:
    """Return an address for comparisons: one scheme, no `www.`, no fragment, no tracking, parameters in order.

    An address of another scheme than http and https stays: a document of one's own has its section in the fragment.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url
    if parts.scheme not in PORTS or not parts.hostname:
        return url
    host = parts.hostname.removeprefix("www.").rstrip(".")
    place = host if port in (None, PORTS[parts.scheme]) else f"{host}:{port}"
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(pair[0])]
    query = f"?{urlencode(sorted(pairs))}" if pairs else ""
    return f"https://{place}{parts.path.rstrip('/')}{query}"
