"""A Python that has imported the libraries already and runs `python -m MODULE` in forked processes.

A cold `python -m app` spends seconds on imports. `python -m tests.support.warm_python` imports the libraries once,
forgets the project's own modules, and forks for every line of its standard input: a Command as JSON. The forked
process imports the project from the folder of its command.
"""

import atexit
import gc
import importlib
import json
import os
import random
import re
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

LIBRARIES_OF = ("app.cli.command_line", "app.composition")
"""Modules of the project; the warm process imports their libraries beforehand."""
PROJECT = ("app", "agents", "dialogs", "observers", "prompts", "tests", "benchmarks")
IMPORTED = re.compile(rf"^(?:from|import) (?!(?:{'|'.join(PROJECT)})\b)([\w.]+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A module to run; `streams` is a folder with the file `in`, which gets the files `out` and `err`."""

    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: str


def run_python(
    module: str, *arguments: str, folder: Path, environment: Mapping[str, str], text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ARGUMENTS` in a folder, with `text` as its standard input."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as streams:
        (Path(streams) / "in").write_text(text, "utf-8")
        command = Command(
            module=module,
            arguments=[*arguments],
            folder=str(folder),
            environment={**environment},
            streams=streams,
        )
        server.stdin.write(f"{json.dumps(asdict(command))}\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = ((Path(streams) / name).read_text("utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess([module, *arguments], code, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    """Start the warm process; it ends with this one."""
    pipe, command = subprocess.PIPE, [sys.executable, "-m", "tests.support.warm_python"]
    server = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def serve() -> None:
    """Run commands, each in a process of its own, until the input ends."""
    for name in LIBRARIES_OF:
        importlib.import_module(name)
    for file in [file for folder in PROJECT for file in (ROOT / folder).rglob("*.py")]:
        for name in IMPORTED.findall(file.read_text("utf-8")):
            # A package missing here is missing for the command too.
            with suppress(ImportError):
                importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in PROJECT]:
        del sys.modules[name]
    gc.freeze()
    for line in sys.stdin:
        command = Command(**json.loads(line))
        # A thread that held a lock now would hold it for ever in the child.
        assert threading.active_count() == 1
        child = os.fork()
        if child == 0:
            os._exit(_run(command))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(command: Command) -> int:
    """Become the process of a command; return its exit code."""
    _open_streams(Path(command.streams))
    os.environ.clear()
    os.environ.update(command.environment)
    time.tzset()
    random.seed()
    os.chdir(command.folder)
    more = command.environment.get("PYTHONPATH", "")
    sys.path[:1] = [command.folder, *filter(None, more.split(os.pathsep))]
    sys.argv = [command.module, *command.arguments]
    importlib.invalidate_caches()
    code: object = 0
    try:
        runpy.run_module(command.module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 1


def _open_streams(folder: Path) -> None:
    """Put files in place of the three standard streams."""
    flags = os.O_WRONLY | os.O_CREAT
    for number, (name, flag) in enumerate((("in", os.O_RDONLY), ("out", flags), ("err", flags))):
        descriptor = os.open(folder / name, flag, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115


if __name__ == "__main__":
    serve()
