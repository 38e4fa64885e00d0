"""The assistant of a door."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.assistant import Assistant
from app.composition import open_assistant
from app.composition.rankers import prepared
from app.extensions import plugins
from app.settings import Settings, read


def open_for_door(settings: Settings) -> AbstractAsyncContextManager[Assistant]:
    """Open the assistant of a door, from a plug-in if one brings it. Raises as `open_assistant`."""
    for plugin in plugins().values():
        own = read(plugin.settings) if plugin.settings else None
        if plugin.door and (opening := plugin.door(own, settings)):
            return opening
    return open_prepared(settings)


@asynccontextmanager
async def open_prepared(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the assistant and train its rankers beside everything else. Raises as `open_assistant`."""
    async with open_assistant(settings) as assistant, prepared(assistant.speakers, direct=settings.direct_switch):
        yield assistant
