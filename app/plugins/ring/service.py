"""The service that rings due notices, on the desktop and through the doors that allow it."""

import asyncio
import hashlib
import html
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from jeepney import DBusAddress, DBusErrorResponse, new_method_call
from jeepney.io.asyncio import DBusRouter, open_dbus_connection
from jeepney.io.common import RouterClosed
from jeepney.wrappers import unwrap_msg

from agents.language.text.clean import clean
from agents.memory.notices import Due
from app.assistant import Assistant
from app.assistant.clocks import Clock, Deliver, Ring, Unreachable
from app.cli.invocation import tell
from app.composition import open_assistant
from app.composition.models import NO_MODELS
from app.doors.ring_door import RingingDoor
from app.process.exit_codes import TROUBLE
from app.process.logs import log_on_stderr
from app.process.tasks import cancelled_by
from app.settings import Settings
from prompts import sentence

APP = "Dialog Supervisor"
DESKTOP_AGAIN = 30.0
"""Seconds until a desktop that shows nothing, such as one that is just starting, is tried again."""

BUS_SECONDS = 10.0
"""Seconds that bus and server may take for a notification."""
NOTIFICATION_SERVER = DBusAddress(
    "/org/freedesktop/Notifications",
    bus_name="org.freedesktop.Notifications",
    interface="org.freedesktop.Notifications",
)
NOTIFY = "susssasa{sv}i"
STAYS_UNTIL_SEEN = 0
"""The lifetime of a notification that stays until the user has seen it."""
HINTS = {"urgency": ("y", 2), "category": ("s", "reminder"), "sound-name": ("s", "alarm-clock-elapsed")}
MARKUP = "body-markup"


class NoDesktop(Unreachable):
    """Nothing on this machine shows notifications now; the text is the reason, in one line."""


class Desktop:
    """Shows notifications; each call opens a connection, since a desktop may end and begin again meanwhile."""

    def __init__(self, app_name: str) -> None:
        self._app_name = app_name

    async def check(self) -> str:
        """Return the name of the server that shows notifications. Raises NoDesktop if there is none."""
        async with _connected() as call:
            return await call("GetServerInformation")

    async def show(self, id: str, title: str, text: str) -> None:
        """Show a notification. One with the same id takes the place of the one before, where the server keeps ids.

        Raises:
            NoDesktop: it could not be shown.
        """
        # The upper half of the numbers, which servers do not count up to.
        number = int.from_bytes(hashlib.sha256(id.encode()).digest()[:4]) | 1 << 31
        async with _connected() as call:
            # A server that reads markup must not read a user's words as markup.
            reads_markup = MARKUP in await call("GetCapabilities")
            body = html.escape(clean(text), quote=False) if reads_markup else clean(text)
            head = (self._app_name, number, "appointment-soon", clean(title), body)
            await call("Notify", NOTIFY, (*head, [], HINTS, STAYS_UNTIL_SEEN))


Call = Callable[..., Awaitable[str]]
"""Takes a method, with a signature and its arguments if it has some; returns the first value of the reply as text."""


@asynccontextmanager
async def _connected() -> AsyncIterator[Call]:
    """Connect to the session bus for the block; a failure of the bus becomes a NoDesktop."""
    try:
        async with asyncio.timeout(BUS_SECONDS):
            connection = await open_dbus_connection("SESSION")
            async with connection, DBusRouter(connection) as router:

                async def call(method: str, signature: str | None = None, body: tuple[object, ...] = ()) -> str:
                    message = new_method_call(NOTIFICATION_SERVER, method, signature, body)
                    return str(unwrap_msg(await router.send_and_get_reply(message))[0])

                yield call
    except KeyError:
        raise NoDesktop("there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)") from None
    except DBusErrorResponse as refusal:
        raise NoDesktop(f"no server shows notifications ({refusal.name})") from refusal
    except (OSError, RuntimeError, ValueError, EOFError, RouterClosed, TimeoutError) as failure:
        raise NoDesktop(f"the session bus cannot be reached ({type(failure).__name__})") from failure


async def ring_for(settings: Settings, lang: str, user: str | None = None) -> int:
    """Ring until SIGTERM or SIGINT; return the exit code, that of "unavailable" where nothing can ring now.

    Raises:
        ConfigError: the settings of a door that rings are wrong.
    """
    log = log_on_stderr(detailed=True, content=settings.log_content, as_json=settings.log_json)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT):
        # The service asks no model, so none has to be reachable.
        async with open_assistant(settings, models=NO_MODELS, remote=False) as assistant:
            return await _ring(assistant, lang, user)
    return 0


async def _ring(assistant: Assistant, lang: str, user: str | None) -> int:
    say, ways = partial(sentence, "ring/phrases"), list[str]()
    deliver: Deliver | None = None
    doors = assistant.services.every(RingingDoor)
    ready = [door for door in doors if door.can_ring(lang)]
    async with AsyncExitStack() as stack:
        begin = partial(Clock, assistant.memory, assistant.sources, user=user)
        for door in ready:
            tell(say("reaching", lang, what=door.title))
            opened = await stack.enter_async_context(door.open(assistant, lang))
            await stack.enter_async_context(begin(opened.deliver, threads=opened.threads))
            ways.append(opened.ways)
            deliver = deliver or opened.deliver_others
        if deliver is None:
            tell(say("reaching", lang, what=say("bus", lang)))
            desktop = Desktop(APP)
            try:
                ways.append(say("desktop", lang, server=await desktop.check()))
            except NoDesktop as lack:
                tell(f"python -m app: {say('no_way', lang, why=lack)}")
                return TROUBLE["unavailable"]
            deliver = partial(_notify, assistant, desktop, say("title", lang))

        def reaches(due: Due) -> bool:
            return not any(door.owns(due.thread) for door in doors)

        await stack.enter_async_context(begin(deliver, reaches=reaches, away=DESKTOP_AGAIN))
        whose = say("of_user", lang, user=user) if user else ""
        tell(say("ringing", lang, user=whose, ways=", ".join(ways)))
        await asyncio.Event().wait()
    return 0


async def _notify(assistant: Assistant, desktop: Desktop, title: str, ring: Ring) -> None:
    """Show a notice on the desktop, then record it as told."""
    await desktop.show(ring.id, title, ring.text)
    await assistant.tell(ring.thread, ring.text, ring.id, ring.user)
