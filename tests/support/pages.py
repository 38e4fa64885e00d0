"""Pages of the documentation as programs: their files are written to a copy of the repository, their commands run.

A sentence that begins with a path in backticks and ends with a colon names the file of the code block below it.
A code block marked `console` is a session:

    $ make chat                     the thread `me`, as at a terminal; `APP_LANG=ru make chat` in Russian
                                    and below it, if the page says so, what is shown first
    > /new                          the next thread, called as at a terminal
    > what the user types           and below it what the page says is shown
    $ python -m app check           any other command, and its output
    $ echo "text" | python -m app … a command that reads a text

`…` in an output stands for any text, over any number of lines.
"""

import itertools
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.package_copy import copy_package
from tests.support.places import ROOT

PACKAGES = ("app", "agents", "dialogs", "observers", "prompts")
ELLIPSIS = "…"
_FILE = re.compile(r"(?:^|[.!?] )`([\w./-]+\.\w+)`[^\n]*:\n```\w+\n(.*?)```", re.DOTALL | re.MULTILINE)
_SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command line for `python -m app`, in a language, and the page's output of it."""

    shown: str
    """The line of the page."""
    arguments: tuple[str, ...]
    lang: str
    expected: tuple[str, ...]
    typed: str = ""
    """The command's standard input."""


def page(name: str) -> str:
    """Return the text of a page, by its path in the repository."""
    return (ROOT / name).read_text("utf-8")


def files(text: str) -> dict[str, str]:
    """Return the files that a page shows, by path."""
    return {path: content for path, content in _FILE.findall(text) if "/" in path}


def steps(text: str) -> Iterator[Step]:
    """Yield the steps of a page, in order."""
    further = (f"me-{number}" for number in itertools.count(2))
    thread, lang = "", "en"
    for session in _SESSION.findall(text):
        for part in re.split(r"^(?=[$>] )", session, flags=re.MULTILINE):
            line, *expected = part.rstrip().splitlines() or [""]
            arguments: tuple[str, ...] = ()
            typed = ""
            if chat := re.fullmatch(r"\$ (?:APP_LANG=(\w+) )?make chat", line):
                thread, lang = "me", chat[1] or "en"
                arguments, expected = ("chat", "--thread", thread), expected or [ELLIPSIS]
            elif line == "> /new":
                thread = next(further)
                arguments, expected = ("chat", "--thread", thread), expected or [ELLIPSIS]
            elif line.startswith("> "):
                arguments = ("ask", line[2:], "--thread", thread)
            elif line.startswith("$ python -m app "):
                arguments = tuple(shlex.split(line.removeprefix("$ python -m app ")))
            elif piped := re.fullmatch(r'\$ echo "(.*)" \| python -m app (.*)', line):
                typed, arguments = f"{piped[1]}\n", tuple(shlex.split(piped[2]))
            if arguments:
                yield Step(line, arguments, lang, tuple(expected), typed)


def copy(folder: Path, extra: dict[str, str]) -> Path:
    """Copy the application to a folder, add files to it, and return the folder."""
    for package in PACKAGES:
        copy_package(package, folder)
    for name, content in extra.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return folder


def play(folder: Path, performed: Sequence[Step]) -> list[str]:
    """Run steps in a copy of the application and return the output of each.

    The process is a fork of this one without the application's modules, so that only they are imported anew.
    """
    with tempfile.TemporaryDirectory() as scratch:
        outputs = [Path(scratch, str(number)) for number in range(len(performed))]
        with warnings.catch_warnings():
            # Newer Pythons warn of a fork while another thread runs; the child uses none of the parent's threads.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            os._exit(_perform(folder, performed, outputs))
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "the steps could not be run"
        return [path.read_text("utf-8") for path in outputs]


def _perform(folder: Path, performed: Sequence[Step], outputs: Sequence[Path]) -> int:
    try:
        for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
            del sys.modules[name]
        sys.path.insert(0, str(folder))
        os.chdir(folder)
        os.environ |= {"LLM_MODEL": "local:rules", "DATABASE_URL": f"sqlite:///{folder}/pages.db"}
        for step, output in zip(performed, outputs, strict=True):
            os.environ["APP_LANG"] = step.lang
            with tempfile.TemporaryFile() as typed:
                typed.write(step.typed.encode())
                typed.flush()
                os.lseek(typed.fileno(), 0, os.SEEK_SET)
                os.dup2(typed.fileno(), 0)
            with output.open("w", encoding="utf-8") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
                _command(step.arguments)
    except BaseException:
        return 1
    return 0


def _command(arguments: Sequence[str]) -> None:
    from app.cli.command_line import main  # noqa: PLC0415  # the copy's module, not the one of this process

    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(os.dup(number), mode) for number, mode in enumerate("rww"))
    main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()


def same(expected: Sequence[str], output: str) -> bool:
    """Tell whether an output matches the one on a page."""
    pattern = "\n".join(re.escape(line.rstrip()).replace(ELLIPSIS, ".*") for line in expected)
    text = "\n".join(line.rstrip() for line in output.strip().splitlines())
    return bool(re.fullmatch(pattern.strip("\n"), text, re.DOTALL))
