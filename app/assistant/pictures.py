"""Pictures that models take, known by their first bytes."""

import base64

from langchain_core.messages.content import ImageContentBlock

LARGEST_PICTURE = 3_000_000  # Bytes.
MOST_PICTURES = 10  # Of a turn.
_BEGINNINGS = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(data: bytes) -> str | None:
    """Return the media type of a picture in a format that models take; None for other data."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def picture(data: bytes) -> ImageContentBlock | None:
    """Return a picture for a model; None if the data is too large, or not in a format that models take."""
    kind = media_type(data)
    if kind is None or len(data) > LARGEST_PICTURE:
        return None
    return ImageContentBlock(type="image", base64=base64.b64encode(data).decode(), mime_type=kind)
