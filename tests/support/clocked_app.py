"""`python -m tests.support.clocked_app CLOCK COMMAND`: the application, whose time is the number in the file CLOCK."""

import datetime
import os
import runpy
import sys
import time
from pathlib import Path

_REAL = datetime.datetime


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _REAL)


class _Clocked(_REAL, metaclass=_Kind):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return _REAL.fromtimestamp(time.time(), tz)


def set_clock(clock: Path, seconds: float) -> None:
    """Set a clock; a reader at that moment finds the old time or the new one."""
    written = clock.with_suffix(".new")
    written.write_text(str(seconds))
    written.replace(clock)


if __name__ == "__main__":
    clock = Path(sys.argv.pop(1))
    os.environ["TZ"] = "UTC"
    time.time = lambda: float(clock.read_text())
    # Stored values name the class of a time.
    _Clocked.__name__, _Clocked.__qualname__, _Clocked.__module__ = "datetime", "datetime", "datetime"
    datetime.datetime = _Clocked  # type: ignore[misc]
    runpy.run_module("app", run_name="__main__", alter_sys=True)
