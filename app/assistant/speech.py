"""Speech as text, which a plug-in may offer, and the suffix of a recording."""

from abc import ABC, abstractmethod

_BEGINNINGS = (
    (0, b"OggS", "ogg"),
    (0, b"ID3", "mp3"),
    (0, b"\xff\xfb", "mp3"),
    (0, b"\xff\xf3", "mp3"),
    (0, b"fLaC", "flac"),
    (0, b"\x1a\x45\xdf\xa3", "webm"),
    (8, b"WAVE", "wav"),
    (4, b"ftypM4A", "m4a"),
    (4, b"ftyp", "mp4"),
)
_STILLS = (b"hei", b"hev", b"mif", b"msf", b"avi")
"""The beginnings of the types of pictures in the container of recordings."""


class NotHeard(Exception):
    """A recording has no text. The message gives the reason, and none of the sent data."""


class SpeechReader(ABC):
    """A service that writes speech down; it is found by this type."""

    @abstractmethod
    async def text(self, recording: bytes, lang: str) -> str:
        """Return the text of a recording; `lang` is the language to expect.

        Raises:
            NotHeard: the server does not answer, the data is not a recording or too large, or nobody speaks in it.
        """


def suffix_of(recording: bytes) -> str | None:
    """Return the suffix for a recording, by its first bytes; None for other data."""
    if recording[4:8] == b"ftyp" and recording[8:11] in _STILLS:
        return None
    return next((suffix for at, mark, suffix in _BEGINNINGS if recording[at : at + len(mark)] == mark), None)
