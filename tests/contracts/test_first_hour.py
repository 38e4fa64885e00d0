"""The guide "From clone to your own assistant in an hour", from a bare clone to the end, word for word."""

import itertools
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.checkout import check_out
from tests.support.commands import run_commands
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
    check_out(folder)
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
        """Follow the page; an output that differs from the page's fails."""
        for block in BLOCK.finditer(text):
            if block["file"]:
                self.files[block["file"]] = block["text"]
                path = self.clone / block["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], "utf-8")
            elif block["kind"] == "console":
                self._types(list(steps(block["text"])))

    def _types(self, session: Sequence[tuple[str, list[str]]]) -> None:
        """Type the lines of a session; those of a chat are said in one process."""
        for is_said, part in itertools.groupby(session, lambda step: step[0].startswith("> ")):
            lines = [*part]
            outputs = (
                self._says([line[2:] for line, _ in lines]) if is_said else [self._runs(line) for line, _ in lines]
            )
            for (line, expected), output in zip(lines, outputs, strict=True):
                assert pages.same(expected or [pages.ELLIPSIS], output), f"{line}\n{output}"

    def _says(self, texts: Sequence[str]) -> list[str]:
        commands = []
        for text in texts:
            if text == "/new":
                self._thread = f"me-{next(self._further)}"
            commands.append(("ask", text, "--thread", self._thread) if text != "/new" else ("--help",))
        outcomes = run_commands(self.clone, {**self._environment, "APP_LANG": self._lang}, *commands)
        return [_shown(*outcome) for outcome in outcomes]

    def _runs(self, line: str) -> str:
        command = line.removeprefix("$ ")
        if chat := re.fullmatch(r"(?:APP_LANG=(\w+) )?make chat", command):
            self._thread, self._lang = "me", chat[1] or "en"
            return ""
        if command.startswith(APPLICATION):
            arguments = shlex.split(command.removeprefix(APPLICATION))
            environment = {**self._environment, "APP_LANG": "en"}
            done = run_python("app", *arguments, folder=self.clone, environment=environment)
            return _shown(done.returncode, done.stdout, done.stderr, "--trace" in arguments)
        done = subprocess.run(
            command, shell=True, cwd=self.clone, env=self._environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr


def _shown(code: int, out: str, error: str, is_traced: bool = False) -> str:
    """Return the text on a terminal: a question without its id, which is for scripts."""
    return out + (error if is_traced or code not in (0, 10) else "")


def contents(clone: Path) -> dict[Path, bytes]:
    """Return the contents of a clone's files, without the environment."""
    files = (path for path in clone.rglob("*") if path.is_file() and ".venv" not in path.parts)
    return {path: path.read_bytes() for path in files}


def steps(session: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the typed lines of a session, each with the lines shown after it."""
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
