"""Files read in a process of their own: bounded in time, memory and length.

A file's author may want to harm its reader: a PDF file that loops, a package that unpacks to gigabytes. The name
and the type of a file that was sent are the sender's words. `python -m agents.sources.documents.reading` is that
process; it has no keys in its environment.
"""

import asyncio
import json
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path, PurePath

from agents.sources.documents.files import LARGEST_FILE, PACKED, READERS, Unreadable, cleaned, web_page
from agents.sources.documents.markdown import Section

LARGEST_ATTACHED = 20_000_000  # Bytes.
LARGEST_TEXT = 2_000_000  # Bytes that are looked at of an attached file that is text.
LARGEST_HERE = 1_000_000  # Bytes of text that are read in our own process.
LONGEST_DOCUMENT = 20_000_000  # Characters of a document of one's own.
SECONDS = 20
PATIENCE = 120  # Seconds for a document of one's own.
MEMORY = 1_500_000_000  # Bytes of address space that the process may use.
PDF, TEXT = ".pdf", ".txt"
WEB_PAGE = "web page"  # No file has it for a suffix, so that no file of a folder is read as one.
UNREADABLE = 3


def sections_of(name: str, body: bytes) -> list[Section]:
    """Return the sections of a document of one's own; those without a heading are named after it.

    It blocks, and belongs in a thread without an event loop.

    Raises:
        Unreadable: it is damaged, or takes too long.
    """
    suffix, stem = PurePath(name).suffix.lower(), PurePath(name).stem
    if suffix != PDF and suffix not in PACKED and len(body) <= LARGEST_HERE:
        sections = READERS[suffix](body)
    else:
        sections = asyncio.run(sections_in_process(suffix, body, LONGEST_DOCUMENT, PATIENCE))
    named = (cleaned(section, stem) for section in sections)
    return [section for section in named if any(map(str.isalnum, section.text))]


async def text_of(name: str, body: bytes, longest: int) -> str:
    """Return the beginning of the text of an attached file, at most `longest` characters, headings included.

    Raises:
        Unreadable: it is damaged, too large, of an unknown kind, without text, or takes too long.
    """
    suffix = kind_of(name, body)
    if suffix is None or len(body) > LARGEST_ATTACHED:
        raise Unreadable("it is too large, or not of a kind that is read")
    is_text = suffix != PDF and suffix not in PACKED
    text = as_text(await sections_in_process(suffix, body[:LARGEST_TEXT] if is_text else body, longest))
    if not text.strip():
        raise Unreadable("there is no text in it that can be read")
    return text[:longest]


async def sections_in_process(suffix: str, body: bytes, longest: int, seconds: float | None = None) -> list[Section]:
    """Return the first sections of a file of this kind, read in a process that may take so many seconds.

    Raises:
        Unreadable: it is damaged, or takes too long.
    """
    limit = SECONDS if seconds is None else seconds
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agents.sources.documents.reading", suffix, str(longest), str(round(limit))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
        env={"PYTHONUTF8": "1"},
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(body), limit)
    except TimeoutError:
        raise Unreadable(f"it is not read within {limit} seconds") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        raise Unreadable(f"the {suffix[1:].upper()} file cannot be read")
    return [Section(*section) for section in json.loads(answer)]


def kind_of(name: str, body: bytes) -> str | None:
    """Return the suffix that fits a file's content, whatever its name is; None for an unreadable kind."""
    suffix = PurePath(name).suffix.lower()
    if body.lstrip()[:5] == b"%PDF-":
        return PDF
    if body.startswith(b"PK\x03\x04"):
        return suffix if suffix in PACKED else None
    if b"\0" in body[:LARGEST_TEXT] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    return suffix if suffix in READERS and suffix != PDF and suffix not in PACKED else TEXT


def read(suffix: str, body: bytes, longest: int) -> list[Section]:
    """Return the first sections of a file of this kind, with so many characters of text at most.

    Raises:
        Unreadable: it is damaged.
    """
    sections: list[Section] = []
    for section in {**READERS, WEB_PAGE: web_page}[suffix](body):
        plain = cleaned(section, "")
        sections.append(Section(plain.title, plain.text[:longest], plain.anchor))
        longest -= len(plain.text)
        if longest <= 0:
            break
    return sections


def as_text(sections: Sequence[Section]) -> str:
    """Return sections as one text, each title once."""
    parts, last = [""], ""
    for section in sections:
        parts += [section.title if section.title != last else "", section.text]
        last = section.title
    return "\n\n".join(filter(None, parts))


def main(arguments: Sequence[str]) -> int:
    """Read a file from stdin and write its sections to stdout as JSON, within shrinking limits."""
    suffix, longest, seconds = arguments
    for limit, most in ((resource.RLIMIT_CPU, int(seconds)), (resource.RLIMIT_AS, MEMORY)):
        # Some systems have no such limit.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    try:
        sections = read(suffix, sys.stdin.buffer.read(LARGEST_FILE + 1), int(longest))
        sys.stdout.write(json.dumps([astuple(section) for section in sections]))
    # A damaged file may make its parser raise any error.
    except (Exception, RecursionError):
        return UNREADABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
