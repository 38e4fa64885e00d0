"""Desktop notifications, as the desktop's own server shows them (org.freedesktop.Notifications over D-Bus)."""

import asyncio
import hashlib
import html
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jeepney import DBusAddress, DBusErrorResponse, new_method_call
from jeepney.io.asyncio import DBusRouter, open_dbus_connection
from jeepney.io.common import RouterClosed
from jeepney.wrappers import unwrap_msg

from agents.language.text.clean import clean

PATIENCE = 10.0
"""Seconds that bus and server may take for a notification."""
SERVER = DBusAddress(
    "/org/freedesktop/Notifications",
    bus_name="org.freedesktop.Notifications",
    interface="org.freedesktop.Notifications",
)
NOTIFY = "susssasa{sv}i"
STAYS = 0
"""The lifetime of a notification that stays until the user has seen it."""
HINTS = {"urgency": ("y", 2), "category": ("s", "reminder"), "sound-name": ("s", "alarm-clock-elapsed")}
MARKUP = "body-markup"


class NoDesktop(Exception):
    """Nothing on this machine shows notifications now; says why in one line."""


class Desktop:
    """Shows notifications; each call opens a connection, since a desktop may end and begin again meanwhile."""

    def __init__(self, app_name: str) -> None:
        self._app_name = app_name

    async def check(self) -> str:
        """Return the name of the server that shows notifications. Raises NoDesktop if there is none."""
        async with _router() as router:
            return str((await _call(router, "GetServerInformation"))[0])

    async def show(self, id: str, title: str, text: str) -> None:
        """Show a notification. One with the same id takes the place of the one before, where the server keeps ids.

        Raises:
            NoDesktop: it could not be shown.
        """
        async with _router() as router:
            capabilities = str((await _call(router, "GetCapabilities"))[0])
            # Where markup is read, the words of a user must not be taken for it.
            body = html.escape(clean(text), quote=False) if MARKUP in capabilities else clean(text)
            arguments: tuple[object, ...] = (
                self._app_name,
                _number(id),
                "appointment-soon",
                clean(title),
                body,
                [],
                HINTS,
                STAYS,
            )
            await _call(router, "Notify", NOTIFY, arguments)


@asynccontextmanager
async def _router() -> AsyncIterator[DBusRouter]:
    """Be connected to the session bus during the block; what fails there is a NoDesktop."""
    try:
        async with asyncio.timeout(PATIENCE):
            connection = await open_dbus_connection("SESSION")
            async with connection, DBusRouter(connection) as router:
                yield router
    except KeyError:
        raise NoDesktop("there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)") from None
    except DBusErrorResponse as refusal:
        raise NoDesktop(f"no server shows notifications ({refusal.name})") from refusal
    except (OSError, RuntimeError, ValueError, EOFError, RouterClosed, TimeoutError) as failure:
        raise NoDesktop(f"the session bus cannot be reached ({type(failure).__name__})") from failure


async def _call(
    router: DBusRouter, method: str, signature: str | None = None, body: tuple[object, ...] = ()
) -> tuple[object, ...]:
    """Call a method of the server and return what it answers."""
    reply = await router.send_and_get_reply(new_method_call(SERVER, method, signature, body))
    values: tuple[object, ...] = unwrap_msg(reply)
    return values


def _number(id: str) -> int:
    """Return the notification's number for an id: the upper half, which servers do not count up to."""
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:4]) | 1 << 31
