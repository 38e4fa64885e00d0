"""Reads the same settings once for all tests: hundreds of tests open the application several times each."""

import os
from collections.abc import Callable
from pathlib import Path

from pydantic_settings import BaseSettings

from app.settings import Kind, Settings


def read_once(read: Callable[[type[Kind]], Kind]) -> Callable[[type[Kind]], Kind]:
    """Return a replacement for `read` that repeats what it read from the same environment and the same `.env`."""
    cached: dict[tuple[object, ...], BaseSettings] = {}

    def reading(kind: type[Kind]) -> Kind:
        env_file = Path(str(Settings.model_config.get("env_file") or ""))
        written = env_file.read_bytes() if env_file.is_file() else b""
        fields = kind.model_fields
        named = frozenset((name, os.environ[name]) for name in os.environ if name.lower() in fields)
        key = kind, os.getcwd(), written, named
        if key not in cached:
            cached[key] = read(kind)
        settings = cached[key]
        assert isinstance(settings, kind)
        return settings.model_copy()

    return reading


without_file = read_once(lambda kind: kind(_env_file=None))
"""Read settings from the environment alone."""
