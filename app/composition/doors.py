"""The assistant of a door."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from agents.discovery import code_of
from app.assistant import Assistant
from app.composition import open_assistant
from app.composition.rankers import prepared
from app.extensions import module_of, plugins
from app.settings import Settings, read


def open_for_door(settings: Settings) -> AbstractAsyncContextManager[Assistant]:
    """Open the assistant of a door, from a plug-in if one brings it. Raises as `open_assistant`."""
    for name, plugin in plugins().items():
        own = read(plugin.settings) if plugin.settings else None
        with code_of(module_of(name)):
            opening = plugin.door and plugin.door(own, settings)
        if opening:
            return opening
    return open_prepared(settings)


@asynccontextmanager
async def open_prepared(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the assistant and train its rankers beside everything else. Raises as `open_assistant`."""
    async with open_assistant(settings) as assistant, prepared(assistant.speakers, direct=settings.direct_switch):
        yield assistant
