"""Modules whose packages are extras: an installation has them only if it uses their feature."""

from importlib import import_module
from typing import Any

from agents.errors import ConfigError

OURS = ("agents", "app")


def load_extra(module: str, extra: str, use: str) -> Any:
    """Load a module that needs the packages of an extra; `use` names the setting and the feature.

    Raises:
        ConfigError: the packages are not installed; the message has the command to install them.
    """
    try:
        return import_module(module)
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] in OURS:
            raise
        raise ConfigError(f"{use} is an extra; install it: {install_command(extra)}") from None


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return f"pip install --require-hashes -r requirements-{extra}.txt"
