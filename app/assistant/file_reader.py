"""Files beside a message, read for its turn: pictures for a model that sees, other files and speech as text."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from langchain_core.messages.content import ImageContentBlock

from agents.sources.attachments import Contents, marks
from agents.sources.documents.files import Unreadable
from agents.state.person import ASR, FORWARDED, OF_USER, OWN, Origin, Quoted, QuotedKind
from app.assistant.assistant import Assistant
from app.assistant.attached_text import LARGEST_ATTACHED, text_of
from app.assistant.pictures import MOST_PICTURES, media_type, picture
from app.assistant.speech import NotHeard, SpeechReader, suffix_of
from app.assistant.turn import Turn
from app.presentation.texts import shortened
from app.process.tasks import loop_time
from prompts import phrase

LOG = logging.getLogger(__name__)
SECONDS = 180.0
"""Seconds for all files of a message."""
AT_ONCE = 2
"""Files that are read at the same time."""
ECHOED = 500
"""The most characters of a transcribed speech in the remark to the user."""
CUT = "\n[…]"
UNUSED: Mapping[str, str] = {
    "photo": "file_no_pictures",
    "file": "file_no_files",
    "voice": "file_no_speech",
    "location": "file_unknown",
    "contact": "file_unknown",
    "caption": "file_unknown",
}
"""The phrase for an unusable part, by its kind."""

Fetch = Callable[[Quoted], Awaitable[bytes]]
"""Returns the bytes of a file. Raises NotFetched."""


def kind_of(beginning: bytes) -> QuotedKind:
    """Return the kind of a file by its first 16 bytes, whatever its name is."""
    return "voice" if suffix_of(beginning) else "photo" if media_type(beginning) else "file"


def _stands_for_file(part: Quoted) -> bool:
    """Tell whether a part stands for a file that could not be used when the message was read before a crash."""
    return part["kind"] == "caption" and part["text"] in UNUSED


class NotFetched(Exception):
    """A file could not be fetched; its text is the key of a phrase for the user."""


async def _fetched(part: Quoted, fetch: Fetch) -> bytes:
    data = await fetch(part)
    if len(data) > LARGEST_ATTACHED:
        raise NotFetched("file_large")
    return data


@dataclass(frozen=True)
class Reading:
    """The outcome of reading a message's files."""

    turn: Turn | None
    """The message with the content of its files; None if nothing of it can be used."""
    remarks: Sequence[str]
    """Remarks for the user on the files."""


@dataclass
class _Parts:
    """The content of the files so far."""

    quoted: list[Quoted] = field(default_factory=list)
    pictures: list[ImageContentBlock] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    spoken: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    """The speech of other people in recordings."""
    failures: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class FileReader:
    """Reads the files beside messages as far as the installation's models can use them.

    `longest` is the most characters of all files of a message; without `speech` no recording is understood.
    """

    def __init__(self, assistant: Assistant, speech: SpeechReader | None, longest: int) -> None:
        self._assistant, self._speech, self._longest = assistant, speech, longest
        self._slots = asyncio.Semaphore(AT_ONCE)

    @property
    def kinds(self) -> set[QuotedKind]:
        """The kinds of files and places that can be used at all."""
        looked_at: set[QuotedKind] = {"photo"} if self._assistant.sees else set()
        heard: set[QuotedKind] = {"voice"} if self._speech else set()
        read: set[QuotedKind] = {"file", "location", "contact"} if self._assistant.reads else set()
        return looked_at | heard | read

    def takes(self, part: Quoted) -> bool:
        """Tell whether a file or a place can be used at all."""
        return part["kind"] in self.kinds

    async def read(self, turn: Turn, fetch: Fetch, lang: str) -> Reading:
        """Return a message with the content of its files; the user's text goes on without unreadable files."""
        if not any(part["kind"] in UNUSED and not _stands_for_file(part) for part in turn.quoted):
            return Reading(turn, ())
        if self._assistant.refuses(turn):
            # A refused message fetches and transcribes nothing.
            return Reading(replace(turn, quoted=()), ())
        parts = _Parts()
        until = loop_time() + SECONDS
        for part in turn.quoted:
            try:
                async with asyncio.timeout_at(until):
                    await self._take(part, parts, fetch, lang)
            except (NotFetched, TimeoutError) as failure:
                key = str(failure) or "file_lost"
                parts.failures.append(phrase(key, lang, name=part["by"]))
                parts.quoted.append(Quoted(kind="caption", by="", text=part["kind"], origin=Origin.USER))
        return self._put_together(turn, parts, lang)

    async def _take(self, part: Quoted, parts: _Parts, fetch: Fetch, lang: str) -> None:
        """Add the content of a part of the message. Raises NotFetched if it cannot be used."""
        if _stands_for_file(part):
            parts.quoted.append(part)
            return
        if part["kind"] in UNUSED and not self.takes(part):
            raise NotFetched(UNUSED[part["kind"]])
        match part["kind"]:
            case "photo":
                self._see(part, await _fetched(part, fetch), parts)
            case "file":
                await self._look_into(part, parts, fetch)
            case "voice":
                text = await self._hear(part, fetch, lang)
                (parts.spoken if part.get("origin") in OWN else parts.passed).append(text)
                parts.remarks.append(phrase("file_heard", lang, text=shortened(text, ECHOED)))
            case _:
                parts.quoted.append(part)

    def _see(self, part: Quoted, data: bytes, parts: _Parts) -> None:
        shown = picture(data)
        if shown is None:
            raise NotFetched("picture_large" if media_type(data) else "file_no_picture")
        if len(parts.pictures) < MOST_PICTURES:
            parts.pictures.append(shown)
            parts.quoted.append({**part, "kind": "photo"})

    async def _look_into(self, part: Quoted, parts: _Parts, fetch: Fetch) -> None:
        data = await _fetched(part, fetch)
        if self._assistant.sees and media_type(data):
            self._see(part, data, parts)
            return
        characters_left = self._longest - sum(map(len, parts.texts.values()))
        try:
            async with self._slots:
                text = await text_of(PurePath(part["by"]).name, data, max(characters_left, 0) + 1)
        except Unreadable as wrong:
            LOG.info("a file could not be read: %s", wrong)
            raise NotFetched("file_unreadable") from None
        is_whole = len(text) <= characters_left
        parts.texts[part.get("file", "")] = text if is_whole else text[: max(characters_left, 0)] + CUT
        parts.quoted.append(part)

    async def _hear(self, part: Quoted, fetch: Fetch, lang: str) -> str:
        assert self._speech is not None  # else no speech is taken
        try:
            return await self._speech.text(await _fetched(part, fetch), lang)
        except NotHeard as failure:
            LOG.warning("speech could not be written down: %s", failure)
            raise NotFetched("file_not_heard") from None

    def _put_together(self, turn: Turn, parts: _Parts, lang: str) -> Reading:
        words = [text for text in (turn.text or "", *parts.spoken) if text.strip()]
        source = turn.source
        if parts.passed and words and source in OF_USER:
            passed = "\n\n".join(parts.passed)
            parts.quoted.append(Quoted(kind="forward_beside", by="", text=passed, origin=Origin.FILE))
        elif parts.passed:
            words, source = [*words, *parts.passed], FORWARDED
        beside = marks(parts.quoted, lang)
        failures = [*dict.fromkeys(parts.failures), *([phrase("file_by_words", lang)] if words else [])]
        remarks = [*parts.remarks, *([" ".join(failures)] if parts.failures else [])]
        if not words and not beside:
            return Reading(None, remarks)
        is_spoken = bool(parts.spoken) and source == "message" and not (turn.text or "").strip()
        text, source = "\n\n".join(words) or beside, ASR if is_spoken else source
        contents = Contents(parts.pictures, parts.texts)
        return Reading(replace(turn, text=text, source=source, quoted=parts.quoted, contents=contents), remarks)
