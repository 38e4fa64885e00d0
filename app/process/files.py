"""Files that are replaced in one step, such as `.env`: a crash leaves the old text or the new one."""

import os
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


def read_env(path: Path) -> dict[str, str]:
    """Return the values of a file by their names in capitals; the last of two entries with one name counts."""
    return {name.upper(): value or "" for name, value in dotenv_values(path, interpolate=False).items()}
