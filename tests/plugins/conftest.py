"""Fixtures that the tests of plug-ins share with those of the doors."""

from tests.doors.http.conftest import client

__all__ = ["client"]
