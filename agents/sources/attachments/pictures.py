"""Pictures as a model takes them: known by their first bytes, bounded in number and size."""

import base64

from langchain_core.messages.content import ImageContentBlock

LARGEST = 3_000_000
"""Bytes of a picture."""
MOST = 10
"""Pictures of a turn."""
_BEGINNINGS = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def kind_of(data: bytes) -> str | None:
    """Return the media type of a picture that models take, whatever its name says; None if it is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def picture(data: bytes) -> ImageContentBlock | None:
    """Return a picture for a model; None for data that is none, or too large."""
    kind = kind_of(data)
    if kind is None or len(data) > LARGEST:
        return None
    return ImageContentBlock(type="image", base64=base64.b64encode(data).decode(), mime_type=kind)
