"""The guide "From clone to your own assistant in an hour", from a bare clone to the end, word for word."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.own_folders import CACHE
from tests.support.places import ROOT
from tests.support.warm_python import run_python

PAGE = "docs/first-hour.md"
NAMED = r"(?:(?:^|[.!?] )`(?P<file>[\w./-]+)`[^\n]*:\n)?"
BLOCK = re.compile(NAMED + r"```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL | re.MULTILINE)
STEP = re.compile(r"^(?=[$>] )", re.MULTILINE)
APPLICATION = "python -m app "


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of what a clone has: the files that git knows."""
    folder = tmp_path / "assistant"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for file in filter(None, listed.split("\0")):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)
    # Everything pinned is installed already, in the environment of this process.
    (folder / ".venv").symlink_to(ROOT / ".venv")
    # What mypy knows of these files already need not be found out anew.
    CACHE.mkdir(parents=True, exist_ok=True)
    (own := folder / CACHE.relative_to(ROOT)).parent.mkdir(parents=True)
    own.symlink_to(CACHE)
    os.utime(folder / "requirements-dev.txt", (0, 0))
    return folder


class Reader:
    """Somebody who copies the files of the page and types its commands, in the order of the page."""

    def __init__(self, clone: Path) -> None:
        self.clone = clone
        self.files: dict[str, str] = {}
        self._thread, self._lang, self._further = "me", "en", itertools.count(2)
        # A newcomer has no settings.
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
        self._environment = {**kept, "LLM_MODEL": "local:rules"}

    def reads(self, text: str) -> None:
        """Do what the page says; an output that is another one than the page's fails."""
        for block in BLOCK.finditer(text):
            if block["file"]:
                self.files[block["file"]] = block["text"]
                path = self.clone / block["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], "utf-8")
            elif block["kind"] == "console":
                for line, expected in steps(block["text"]):
                    output = self._types(line)
                    assert pages.same(expected or [pages.ELLIPSIS], output), f"{line}\n{output}"

    def _types(self, line: str) -> str:
        if chat := re.fullmatch(r"\$ (?:APP_LANG=(\w+) )?make chat", line):
            self._thread, self._lang = "me", chat[1] or "en"
            return ""
        if line == "> /new":
            self._thread = f"me-{next(self._further)}"
            return ""
        if line.startswith("> "):
            return self._runs("ask", line[2:], "--thread", self._thread, lang=self._lang)
        command = line.removeprefix("$ ")
        if command.startswith(APPLICATION):
            return self._runs(*shlex.split(command.removeprefix(APPLICATION)))
        done = subprocess.run(
            command, shell=True, cwd=self.clone, env=self._environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    def _runs(self, *arguments: str, lang: str = "en") -> str:
        environment = {**self._environment, "APP_LANG": lang}
        done = run_python("app", *arguments, folder=self.clone, environment=environment)
        # At a terminal a question is shown without its id, which is for scripts.
        is_shown = done.returncode not in (0, 10) or "--trace" in arguments
        return done.stdout + (done.stderr if is_shown else "")


def contents(clone: Path) -> dict[Path, bytes]:
    """Return what stands in the files of a clone, but for the environment."""
    files = (path for path in clone.rglob("*") if path.is_file() and ".venv" not in path.parts)
    return {path: path.read_bytes() for path in files}


def steps(session: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what is typed in a session, with the lines that are shown then."""
    for part in filter(str.strip, STEP.split(session)):
        line, *expected = part.rstrip().splitlines()
        yield line, expected


@pytest.mark.slow
def test_the_first_hour(clone: Path) -> None:
    """The page works from its first line to its last, and says how many files and lines it takes."""
    text = pages.page(PAGE)
    before = contents(clone)
    reader = Reader(clone)
    reader.reads(text)

    lines = sum(len([line for line in file.splitlines() if line.strip()]) for file in reader.files.values())
    (files, rounded) = re.search(r"It takes (\d+) files with (\d+) lines", text).groups()  # type: ignore[union-attr]
    assert (int(files), int(rounded)) == (len(reader.files), round(lines, -1))
    after = contents(clone)
    assert {path: after.get(path) for path in before} == before
