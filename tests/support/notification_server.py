"""A session bus with a notification server that keeps every notification."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from jeepney import HeaderFields, MessageType, message_bus, new_error, new_method_return
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

from tests.support.until import until

NAME = "org.freedesktop.Notifications"
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir={folder}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow own="*"/><allow eavesdrop="true"/>
</policy></busconfig>
"""


@dataclass
class Notifications:
    """The notifications of a server. As specified, a notification with an existing id replaces the old one."""

    address: str
    capabilities: Sequence[str] = ("body", "body-markup")
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Title and text of each call, in order."""
    shown: dict[int, str] = field(default_factory=dict)
    """The notifications on the screen, by id."""
    fails: bool = False
    """Whether it refuses to show anything."""
    refused: int = 0
    most: int | None = None
    """The number of notifications before a caller has to wait; None: no limit."""

    async def serve(self, connection: DBusConnection) -> None:
        """Answer calls until cancelled."""
        while True:
            call = await connection.receive()
            if call.header.message_type is not MessageType.method_call:
                continue
            method = call.header.fields[HeaderFields.member]
            if method == "Notify" and self.fails:
                self.refused += 1
                await connection.send(new_error(call, "org.freedesktop.DBus.Error.Failed"))
            elif method == "Notify":
                await until(lambda: self.most is None or len(self.calls) < self.most)
                _, replaced, _, title, text, _, hints, lifetime = call.body
                assert (hints["urgency"], lifetime) == (("y", 2), 0)
                self.calls.append((title, text))
                self.shown[replaced or len(self.shown) + 1] = text
                await connection.send(new_method_return(call, "u", (replaced or len(self.shown),)))
            elif method == "GetCapabilities":
                await connection.send(new_method_return(call, "as", ([*self.capabilities],)))
            elif method == "GetServerInformation":
                await connection.send(new_method_return(call, "ssss", ("tray", "tests", "1", "1.2")))


@asynccontextmanager
async def session_bus(folder: Path) -> AsyncIterator[str]:
    """Run a session bus and yield its address; skip the test without a dbus-daemon."""
    if (program := shutil.which("dbus-daemon")) is None:
        pytest.skip("this machine has no dbus-daemon")
    config = folder / "bus.conf"
    config.write_text(CONFIG.format(folder=folder), "utf-8")
    arguments = (f"--config-file={config}", "--nofork", "--print-address")
    bus = await asyncio.create_subprocess_exec(program, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert bus.stdout is not None
        yield (await bus.stdout.readline()).decode().strip()
    finally:
        bus.kill()
        await bus.wait()


@asynccontextmanager
async def notification_server(address: str) -> AsyncIterator[Notifications]:
    """Run a notification server on a bus during the block."""
    server = Notifications(address)
    async with await open_dbus_connection(address) as connection:
        await connection.send(message_bus.RequestName(NAME))
        serving = asyncio.create_task(server.serve(connection))
        try:
            yield server
        finally:
            serving.cancel()
