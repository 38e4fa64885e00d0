"""Bring the index up to date with folders and files, and with our own help pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import prompts
from agents.errors import UsageError
from agents.sources.documents.files import Unreadable, files_in, sections_of
from agents.sources.documents.index import DocumentIndex, digest
from agents.sources.documents.markdown import markdown_sections

HELP = "help"
"""The folder of our own help pages in the index."""
Tell = Callable[[int, int, str], None]
"""Is told how many files of how many are done, and which one comes."""


@dataclass
class Report:
    """What indexing has done: numbers of files, and a line for each that could not be read."""

    added: int = 0
    unchanged: int = 0
    removed: int = 0
    unreadable: list[str] = field(default_factory=list)


def index_folder(index: DocumentIndex, place: Path, url: str, tell: Tell) -> Report:
    """Read what is new or changed below a folder, or in one file, and take out what is gone.

    `url` is put before the paths below the folder; a file that cannot be read is left as it was indexed before.

    Raises:
        UsageError: there is no such folder or file, or it overlaps one that was added.
    """
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder")
    place = place.resolve()
    _check_overlap(place, [folder.path for folder in index.folders()])
    folder, report = str(place), Report()
    index.add_folder(folder, url)
    root = place.parent if place.is_file() else place
    files = list(files_in(place))
    for number, file in enumerate(files):
        name = file.relative_to(root).as_posix()
        tell(number, len(files), name)
        try:
            _index_file(index, folder, file, name, report)
        except (Unreadable, OSError, UnicodeError) as fault:
            # A name that is no text cannot be stored.
            report.unreadable.append(str(fault))
    tell(len(files), len(files), "")
    report.removed = index.keep_files(folder, [file.relative_to(root).as_posix() for file in files])
    return report


def index_help(index: DocumentIndex) -> None:
    """Index the help pages of all languages, unless they are as they were; once removed they stay out."""
    pages = {lang: "\n\n".join(prompts.prompts_of_all("help", lang)) for lang in prompts.translated("help")}
    state = digest("\n".join(f"{lang} {page}" for lang, page in sorted(pages.items())).encode())
    if index.noted(HELP) == state or index.noted(HELP) == REMOVED:
        return
    index.add_folder(HELP, f"{HELP}/")
    for lang, page in pages.items():
        index.put_file(HELP, lang, digest(page.encode()), markdown_sections(page))
    index.keep_files(HELP, list(pages))
    index.note(HELP, state)


REMOVED = "removed"
"""What is noted of the help pages when they shall not be found."""


def remove(index: DocumentIndex, place: str) -> bool:
    """Take a folder or file out that was added; return whether it was there."""
    if place == HELP:
        index.note(HELP, REMOVED)
        return index.remove_folder(HELP)
    return index.remove_folder(str(Path(place).resolve()))


def _index_file(index: DocumentIndex, folder: str, file: Path, name: str, report: Report) -> None:
    state = digest(file.read_bytes())
    if index.digest_of(folder, name) == state:
        report.unchanged += 1
        return
    index.put_file(folder, name, state, sections_of(file))
    report.added += 1


def _check_overlap(place: Path, folders: Sequence[str]) -> None:
    for folder in map(Path, folders):
        if folder != place and (place.is_relative_to(folder) or folder.is_relative_to(place)):
            raise UsageError(f"{place} overlaps {folder}, which is indexed; remove that first")
