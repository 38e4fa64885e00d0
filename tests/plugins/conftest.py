"""What the tests of plug-ins share with those of the doors."""

from tests.doors.http.conftest import assistant, client, script

__all__ = ["assistant", "client", "script"]
