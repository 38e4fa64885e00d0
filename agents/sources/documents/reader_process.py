"""Files read in a process of their own: bounded in time, memory and length.

A file's author may want to harm its reader: a PDF file that loops, a package that unpacks to gigabytes.
`python -m agents.sources.documents.reader_process` is that process.
"""

import json
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path

from agents.sources.child_process import output_of
from agents.sources.documents.files import LARGEST_FILE, READERS, Unreadable, cleaned, web_page
from agents.sources.documents.markdown import DocumentSection

SECONDS = 20
MEMORY = 1_500_000_000  # Bytes of address space that the process may use.
PDF = ".pdf"
WEB_PAGE = "web page"  # No file has this suffix, so that no file of a folder is read as a web page.
UNREADABLE = 3


async def sections_in_process(
    suffix: str, body: bytes, longest: int, seconds: float | None = None
) -> list[DocumentSection]:
    """Return the first sections of a file of this kind, read in a process within `seconds` of the processor.

    Raises:
        Unreadable: it is damaged, or takes too long.
    """
    limit = SECONDS if seconds is None else seconds
    command = (sys.executable, "-m", "agents.sources.documents.reader_process", suffix, str(longest), str(round(limit)))
    try:
        status, answer = await output_of(*command, body=body, seconds=limit, cwd=Path(__file__).parents[3])
    except TimeoutError:
        raise Unreadable(f"it is not read within {limit} seconds") from None
    if status:
        raise Unreadable(f"the {suffix[1:].upper()} file cannot be read")
    return [DocumentSection(*section) for section in json.loads(answer)]


def read(suffix: str, body: bytes, longest: int) -> list[DocumentSection]:
    """Return the first sections of a file of this kind, with at most `longest` characters of text.

    Raises:
        Unreadable: it is damaged.
    """
    sections: list[DocumentSection] = []
    for section in {**READERS, WEB_PAGE: web_page}[suffix](body):
        plain = cleaned(section, "")
        sections.append(DocumentSection(plain.title, plain.text[:longest], plain.anchor))
        longest -= len(plain.text)
        if longest <= 0:
            break
    return sections


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
