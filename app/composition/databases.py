"""The database by its address."""

from collections.abc import Callable
from functools import partial

from agents.memory.backend import Backend, SqliteBackend
from app.extensions import plugins
from app.settings import read


def backend_of(url: str) -> Backend:
    """Return what opens the database at an address: that of a plug-in for its scheme, else that of SQLite files.

    Raises:
        ConfigError: a setting of a plug-in with databases is wrong, or its packages are not installed.
    """
    kinds = dict[str, Callable[[str], Backend]]()
    for plugin in plugins().values():
        settings = read(plugin.settings) if plugin.storage and plugin.settings else None
        kinds |= {scheme: partial(make, settings) for scheme, make in plugin.storage.items()}
    return kinds.get(url.partition(":")[0], SqliteBackend)(url)
