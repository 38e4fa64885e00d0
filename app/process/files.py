"""Files that are replaced in one step, such as `.env`: a crash leaves the old text or the new one."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values


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


UNQUOTED = re.compile(r"[\w.:/@%+,=-]*")
SETTING = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=")


def read_env(path: Path) -> dict[str, str]:
    """Return the values of a file by their names in capitals; the last of two entries with one name counts."""
    return {name.upper(): value or "" for name, value in dotenv_values(path, interpolate=False).items()}


def write_env(path: Path, values: Mapping[str, str]) -> None:
    """Set values; other lines stay as they are. The file is replaced whole, and only its owner may read it.

    Raises:
        OSError: the file or its folder cannot be written to.
    """
    path = path.resolve()
    lines, left = [], dict(values)
    for line in reversed(path.read_text("utf-8").splitlines() if path.exists() else []):
        setting = SETTING.match(line)
        name = setting[1].upper() if setting else ""
        if name in left:
            lines.append(f"{name}={_quoted(left.pop(name))}")
        elif name not in values:
            lines.append(line)
    lines = [*reversed(lines), *(f"{name}={_quoted(value)}" for name, value in left.items())]
    replace_file(path, "".join(f"{line}\n" for line in lines), 0o600)


def _quoted(value: str) -> str:
    if UNQUOTED.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
