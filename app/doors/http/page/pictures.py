"""Pictures of the web, fetched by the server: a browser that looks at the page calls nobody else."""

import asyncio
import hashlib
import hmac
import secrets
from urllib.parse import urlencode

from agents.events import ShownImage
from agents.events.views import is_web
from agents.sources.attachments import kind_of
from agents.sources.web.fetcher import Fetcher, NotFetched

KINDS = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
LARGEST = 2_000_000
"""Bytes of a picture."""
PATIENCE = 10.0
"""Seconds that a picture may take."""
# Only addresses that this process has drawn are fetched; a page that is older than the process shows titles alone.
_SECRET = secrets.token_bytes(32)
_SLOTS = asyncio.Semaphore(4)


def picture_address(image: ShownImage) -> str:
    """Return where the page finds a picture; empty if it is not on the web."""
    url = next((url for url in (image["thumbnail"], image["url"]) if is_web(url)), "")
    return f"/picture?{urlencode({'url': url, 'sign': _signature(url)})}" if url else ""


async def picture(url: str, sign: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a picture. Raises NotFetched: it cannot be had, or was never shown."""
    if not hmac.compare_digest(sign.encode("utf-8", "replace"), _signature(url).encode()):
        raise NotFetched("it was not shown by this process")
    async with _SLOTS, Fetcher(timeout=PATIENCE, largest=LARGEST) as fetcher:
        download = await fetcher.page(url, KINDS)
    kind = kind_of(download.body)
    if kind is None:
        raise NotFetched("it is no picture")
    return kind, download.body


def _signature(url: str) -> str:
    return hmac.new(_SECRET, url.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
