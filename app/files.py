"""Files that are replaced in one step, so that a crash leaves the old text or the new one."""

import os
from pathlib import Path


def replace_file(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a whole file; `mode` is that of the new file, less what the process masks.

    Raises:
        OSError: the file or its folder cannot be written to.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
