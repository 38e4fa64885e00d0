"""What these tests share with those of the commands, the Telegram door and with the traces."""

from tests.doors.cli.conftest import feed
from tests.doors.telegram.conftest import door, world
from tests.engine.traces.conftest import shop

__all__ = ["door", "feed", "shop", "world"]
