"""The database by its address."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import prompts
from agents.discovery import code_of
from agents.errors import ConfigError
from agents.memory.backend import Backend
from agents.memory.sqlite_file import PLAIN_START, PREFIX, SqliteBackend, start_of
from app.extensions import module_of, plugins
from app.settings import read, values_set

KEY = re.compile(r"DATABASE_(?:\w+_)?KEY")
"""The name of a plug-in's key for the database."""


def backend_of(url: str) -> Backend:
    """Return the backend of the database at an address: a plug-in's for its scheme, else that of SQLite files.

    Raises:
        ConfigError: a setting of a plug-in with databases is wrong, its packages are not installed, or there is a key
            and no plug-in encrypts.
    """
    # A plain file needs no plug-in, and to load them all takes longer than to read rows.
    is_plain = url.startswith(PREFIX) and start_of(Path(url.removeprefix(PREFIX))) in (b"", PLAIN_START)
    if is_plain and not prompts.EXTENSIONS and not any(map(KEY.fullmatch, values_set())):
        return SqliteBackend(url)
    brought = {name: plugin for name, plugin in plugins().items() if plugin.storage}
    names = {name.upper() for plugin in brought.values() if plugin.settings for name in plugin.settings.model_fields}
    # The plug-in may be left out, or its folder deleted.
    if keys := sorted(name for name in values_set().keys() - names if KEY.fullmatch(name)):
        raise ConfigError(f"{keys[0]} is set, and no plug-in encrypts by it (see PLUGINS); take it away, or add one")
    kinds = dict[str, tuple[str, Callable[[str], Backend]]]()
    for name, plugin in brought.items():
        settings = read(plugin.settings) if plugin.settings else None
        kinds |= {scheme: (name, partial(make, settings)) for scheme, make in plugin.storage.items()}
    name, make = kinds.get(url.partition(":")[0], ("", SqliteBackend))
    with code_of(module_of(name)):
        return make(url)
