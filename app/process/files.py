"""Files that are replaced in one step, such as `.env`: a crash leaves the old text or the new one."""

import io
import os
from pathlib import Path

from dotenv.parser import parse_stream

from agents.errors import ConfigError


def replace_file(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a whole file; `mode` is that of the new file, less the process's mask.

    Raises:
        OSError: the file or its folder cannot be written to.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def read_env(path: Path) -> dict[str, str]:
    """Return the values of a file by their names in capitals; the last of two entries with one name counts.

    A file that is not there has none.

    Raises:
        ConfigError: a line is not an entry, or is not written in UTF-8; it would be left out silently.
    """
    try:
        entries = [*parse_stream(io.StringIO(path.read_text("utf-8-sig") if path.is_file() else ""))]
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not written in UTF-8") from None
    if wrong := next((entry.original for entry in entries if entry.error), None):
        # A line may hold a secret, so it is not shown.
        raise ConfigError(f"{path}, line {wrong.line}: write NAME=value; a quote needs its end")
    return {entry.key.upper(): entry.value or "" for entry in entries if entry.key}
