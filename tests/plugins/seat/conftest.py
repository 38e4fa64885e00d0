"""Fixtures that these tests share with those of the commands and with the traces."""

from tests.doors.cli.conftest import feed
from tests.engine.traces.conftest import shop

__all__ = ["feed", "shop"]
