"""Reads the same settings once for all tests: hundreds of tests open the application several times each."""

import os
from collections.abc import Callable
from pathlib import Path

from pydantic_settings import BaseSettings

from app.settings import Kind, Settings


def read_once(read: Callable[[type[Kind]], Kind]) -> Callable[[type[Kind]], Kind]:
    """Return a replacement for `read` that remembers the settings of each environment and `.env`."""
    cached: dict[tuple[object, ...], BaseSettings] = {}

    def reading(kind: type[Kind]) -> Kind:
        env_file = str(Settings.model_config.get("env_file") or "")
        written = Path(env_file).read_bytes() if os.path.isfile(env_file) else b""
        named = tuple(os.environ.get(field.upper()) for field in kind.model_fields)
        key = kind, os.getcwd(), written, named
        if key not in cached:
            cached[key] = read(kind)
        settings = cached[key]
        assert isinstance(settings, kind)
        return settings.model_copy()

    return reading


without_file = read_once(lambda kind: kind(_env_file=None))
"""Read settings from the environment alone."""
