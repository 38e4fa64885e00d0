"""Files within a request: the process reads them for its turn, and keeps them nowhere."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.state.person import Origin, Quoted, QuotedKind
from app.assistant import Turn
from app.assistant.file_reader import FileReader, Reading, kind_of


@dataclass(frozen=True)
class Upload:
    """A file beside a message."""

    data: bytes
    name: str = ""
    kind: QuotedKind | None = None
    """The kind that the client gives; None: the kind of its content."""
    is_recorded: bool = False
    """Whether the user has just recorded it; the speaker of another recording may be a stranger."""

    @property
    def quoted(self) -> Quoted:
        """The file as a message refers to it."""
        kind = self.kind or kind_of(self.data)
        origin = Origin.USER if kind == "photo" or self.is_recorded else Origin.FILE
        return Quoted(kind=kind, by=self.name, text="", origin=origin)


async def with_uploads(reader: FileReader, turn: Turn, uploads: Sequence[Upload], lang: str) -> Reading:
    """Return a message with the content of its files. The reader fetches nothing from the network."""

    async def fetch(part: Quoted) -> bytes:
        return uploads[int(part.get("file", ""))].data

    # The process does not store the files, so that no later turn can read them by their place.
    quoted = [Quoted(**upload.quoted, file=str(place)) for place, upload in enumerate(uploads)]
    return await reader.read(replace(turn, quoted=quoted), fetch, lang)


def decoded(text: str) -> bytes:
    """Return the bytes of a base64 text; no bytes for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
