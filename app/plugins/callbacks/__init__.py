"""The memory of stopped threads, pushed to the operator's server (docs/http.md)."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from pydantic import AnyHttpUrl, SecretStr

from agents.memory import Memory
from agents.memory.connection import Tables
from agents.memory.inbox import storable
from agents.plugin import Plugin, PluginSettings
from agents.toolkit.services import Services

TABLES = Tables(
    "http",
    {
        "make_callbacks": """CREATE TABLE callbacks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, turn INTEGER NOT NULL, body TEXT,
        made_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, UNIQUE (thread, turn));
        CREATE INDEX callbacks_due ON callbacks (due_ms) WHERE body IS NOT NULL""",
        # The transcript alone holds the messages, so that no copy outlives their deletion.
        "keep_names_alone": """ALTER TABLE callbacks RENAME COLUMN body TO name;
        UPDATE callbacks SET name = json_extract(name, '$.thread') WHERE name IS NOT NULL""",
    },
)


class CallbackSettings(PluginSettings):
    """The operator's server, and the key of the signatures."""

    memory_callback_url: AnyHttpUrl | None = None
    memory_callback_secret: SecretStr | None = None


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the queue of pushes, if there is a server to push to."""
    settings = services.get(CallbackSettings)
    if settings.memory_callback_url is None:
        yield ()
        return
    pushes: Any = import_module("app.plugins.callbacks.pushes")
    url, secret = str(settings.memory_callback_url), settings.memory_callback_secret
    yield [pushes.Callbacks(services.get(Memory), url, secret)]


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the pushes of a thread."""
    await services.get(Memory).database.execute("DELETE FROM callbacks WHERE thread = ?", (storable(thread),))


plugin = Plugin(
    settings=CallbackSettings,
    tables=TABLES,
    services=opened,
    routes=("app.plugins.callbacks.pushes",),
    forget=forget,
)
