"""The text of a file that somebody sent, read in a process of its own: bounded in time, memory and length.

Its name and its type are the sender's words, and what is in it may be made to harm whoever reads it: a PDF file that
loops, a page that unpacks to gigabytes. `python -m agents.sources.documents.attached_text` is that process; it has no
keys in its environment.
"""

import asyncio
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from agents.sources.documents.files import READERS, Unreadable, cleaned

LARGEST_FILE = 20_000_000
"""Bytes of a file."""
LARGEST_TEXT = 2_000_000
"""Bytes that are looked at of a file that is text."""
SECONDS = 20
MEMORY = 1_500_000_000
"""Bytes of address space that the process may use."""
PDF, TEXT = ".pdf", ".txt"
UNREADABLE = 3


async def text_of(name: str, body: bytes, longest: int) -> str:
    """Return the beginning of the text of a file, at most `longest` characters.

    Raises:
        Unreadable: it is damaged, too large, of an unknown kind, without text, or takes too long.
    """
    suffix = kind_of(name, body)
    if suffix is None or len(body) > LARGEST_FILE:
        raise Unreadable("it is too large, or not of a kind that is read")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agents.sources.documents.attached_text", suffix, str(longest)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
        env={"PYTHONUTF8": "1"},
    )
    try:
        text, _ = await asyncio.wait_for(process.communicate(body), SECONDS)
    except TimeoutError:
        raise Unreadable(f"it is not read within {SECONDS} seconds") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode or not text.strip():
        raise Unreadable("there is no text in it that can be read")
    return text.decode("utf-8", "replace")[:longest]


def kind_of(name: str, body: bytes) -> str | None:
    """Return the suffix of the kind that a file is, whatever it is called; None for one that is not read."""
    if body.lstrip()[:5] == b"%PDF-":
        return PDF
    if b"\0" in body[:LARGEST_TEXT] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    suffix = PurePath(name).suffix.lower()
    return suffix if suffix in READERS and suffix != PDF else TEXT


def read(suffix: str, body: bytes, longest: int) -> str:
    """Return the beginning of the text of a file of this kind, headings included.

    Raises:
        Unreadable: it is damaged.
    """
    parts: list[str] = []
    title, length = "", 0
    for section in READERS[suffix](body if suffix == PDF else body[:LARGEST_TEXT]):
        plain = cleaned(section, "")
        heading = [plain.title] if plain.title not in ("", title) else []
        title = plain.title
        parts += [*heading, plain.text]
        length += len(plain.text)
        if length > longest:
            break
    return "\n\n".join(filter(None, parts))[:longest]


def main(arguments: Sequence[str]) -> int:
    """Read a file from stdin and write its text to stdout, with less and less to use up."""
    suffix, longest = arguments
    for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY)):
        # Some systems know no such limit.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    try:
        text = read(suffix, sys.stdin.buffer.read(LARGEST_FILE + 1), int(longest))
    except (Unreadable, MemoryError, RecursionError):
        return UNREADABLE
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
