"""The data beside text in chunks of a chat completion: the sources and the images of a search."""

from collections.abc import Mapping

from agents.events import Images, Sources

IMAGE = {
    "url": "url",
    "title": "title",
    "thumbnail": "thumbnail-link",
    "width": "original-width",
    "height": "original-height",
    "mime_type": "mime-type",
    "page": "page",
}
"""The fields of an image, and their names in `inline_data`."""


def inline_data(event: Sources | Images) -> Mapping[str, object]:
    """Return the `inline_data` of an event: `sources` by their numbers, or `images`."""
    if isinstance(event, Sources):
        return {"sources": event.plain()["sources"]}
    return {"images": [{IMAGE[name]: value for name, value in image.items()} for image in event.images]}
