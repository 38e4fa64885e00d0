"""The file `.env`: read what is set there, and set values without touching the other lines."""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

PLAIN = re.compile(r"[\w.:/@%+,=-]*")


def read_env(path: Path) -> dict[str, str]:
    """Return the values of a file, quotes removed; of a name that stands there twice the last one counts."""
    found = {}
    for line in _lines(path):
        if name := _name(line):
            found[name] = _plain(line.partition("=")[2].strip())
    return found


def write_env(path: Path, values: Mapping[str, str]) -> None:
    """Set values; other lines stay as they are. The file is replaced whole, and only its owner may read it.

    Raises:
        OSError: the file or its folder cannot be written to.
    """
    path = path.resolve()
    lines, left = [], dict(values)
    for line in reversed(_lines(path)):
        name = _name(line)
        if name in left:
            lines.append(f"{name}={_quoted(left.pop(name))}")
        elif name not in values:
            lines.append(line)
    lines = [*reversed(lines), *(f"{name}={_quoted(value)}" for name, value in left.items())]
    handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=".env-")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        Path(fresh).replace(path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def _name(line: str) -> str:
    found = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", line)
    return found[1].upper() if found else ""


def _quoted(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _plain(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return re.split(r"\s+#", text)[0]
