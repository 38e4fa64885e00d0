"""What these tests share with those of the Telegram door and with the traces."""

from tests.doors.telegram.conftest import door, world
from tests.engine.traces.conftest import shop

__all__ = ["door", "shop", "world"]
