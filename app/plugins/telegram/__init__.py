"""The Telegram bot: `python -m app telegram`. Notices of other doors can ring in its chats as well."""

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from agents.errors import ConfigError
from agents.plugin import Plugin
from agents.toolkit.services import Services
from app.doors.ring_door import OpenRinging, RingingDoor
from app.plugins.telegram.phrases import say
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.setup import set_up_bot, set_up_ringing
from app.settings import read, read_settings

if TYPE_CHECKING:
    from app.assistant import Assistant

THREADS = "telegram-", "telegram@"
"""The beginnings of the names of its chats' threads."""


class TelegramRinging(RingingDoor):
    """Rings in the chats of the bot; one chat can get the notices of other doors."""

    title = "Telegram"

    def __init__(self, settings: TelegramSettings) -> None:
        self._settings = settings

    def owns(self, thread: str) -> bool:
        """See `RingingDoor`."""
        return thread.startswith(THREADS)

    def can_ring(self, lang: str) -> bool:
        """See `RingingDoor`."""
        if self._settings.ring_telegram_chat is not None and not self._settings.token:
            raise ConfigError(say("no_token", lang))
        return bool(self._settings.token)

    def open(self, assistant: "Assistant", lang: str) -> AbstractAsyncContextManager[OpenRinging]:
        """See `RingingDoor`."""
        opened: AbstractAsyncContextManager[OpenRinging] = _service().ringing(assistant, self._settings, lang)
        return opened


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the ringing door as a service."""
    yield [TelegramRinging(services.get(TelegramSettings))]


commands = typer.Typer(name="telegram")


@commands.callback(invoke_without_command=True)
def telegram_or_pair(context: typer.Context) -> Coroutine[object, object, int] | None:
    """Answer in Telegram, as the bot of TELEGRAM_BOT_TOKEN, until stopped."""
    return None if context.invoked_subcommand else _serve()


async def _serve() -> int:
    return int(await _service().serve(read_settings(), read(TelegramSettings)))


@commands.command()
async def pair() -> int:
    """Print a link that lets its first opener talk to the bot, within an hour."""
    return int(await import_module("app.plugins.telegram.access").pair(read_settings(), read(TelegramSettings)))


def _service() -> Any:
    # Its library takes half a second to import: a command without the bot should not wait for it.
    return import_module("app.plugins.telegram.service")


plugin = Plugin(
    settings=TelegramSettings,
    services=opened,
    command_line=commands,
    setup={"telegram": set_up_bot, "ring": set_up_ringing},
)
