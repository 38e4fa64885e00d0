"""Files of this machine beside a message: named by their paths, and known by what is in them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agents.sources.attachments import kind_of as picture_kind
from agents.sources.attachments.transcriber import kind_of as recording_kind
from agents.sources.documents.attached_text import LARGEST_FILE
from agents.state.person import Quoted
from app.assistant import Turn
from app.assistant.file_reader import FileReader, NotFetched, Reading


async def with_files(reader: FileReader, turn: Turn, paths: Sequence[Path], lang: str) -> Reading:
    """Return a message with what these files hold."""
    quoted = [await asyncio.to_thread(_described, path) for path in paths]
    return await reader.read(replace(turn, quoted=quoted), _fetch, lang)


async def _fetch(part: Quoted) -> bytes:
    try:
        return await asyncio.to_thread(_bytes, Path(part.get("file", "")))
    except OSError:
        raise NotFetched("file_lost") from None


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_FILE:
        raise NotFetched("file_large")
    return path.read_bytes()


def _described(path: Path) -> Quoted:
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except OSError:
        beginning = b""
    if recording_kind(beginning):
        return Quoted(kind="voice", by="", text="", foreign=False, file=str(path))
    if picture_kind(beginning):
        return Quoted(kind="photo", by="", text="", foreign=False, file=str(path))
    return Quoted(kind="file", by=path.name, text="", foreign=True, file=str(path))
