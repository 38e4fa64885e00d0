"""The command that takes files along with the next message."""

from pathlib import Path

from app.doors.visit import Visit
from app.texts import say


async def attach(visit: Visit, argument: str, lang: str) -> str:
    """Note a file for the next message."""
    path = file_at(argument)
    if path is None:
        return say("no_file", lang, name=argument or "?")
    visit.files.append(path)
    return say("reply.attached", lang, names=", ".join(path.name for path in visit.files))


def file_at(name: str) -> Path | None:
    """Return a file of this machine by what a user calls it; None if there is none."""
    try:
        path = Path(name).expanduser().resolve()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        # Somebody's home that there is not, a loop of links, a name with NUL.
        return None
