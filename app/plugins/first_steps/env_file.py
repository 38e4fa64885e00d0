"""Settings that setup writes into `.env`."""

import re
from collections.abc import Mapping
from pathlib import Path

from app.process.files import replace_file

UNQUOTED = re.compile(r"[\w.:/@%+,=-]*")
SETTING = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=")


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
