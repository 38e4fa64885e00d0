"""Folders of a team's own, searched beside the shipped ones for dialogs, observers and prompts."""

import importlib
import os
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

import dialogs
import observers
import prompts
from agents.discovery import ROOT
from agents.errors import ConfigError

GROUP = "dialog_supervisor.dialogs"
"""The entry points of installed packages that have such a folder; each names its package."""
PACKAGES = (dialogs, observers)


def written(read: Callable[[str], object]) -> BeforeValidator:
    """Return a validator that reads a setting from text; it leaves any other value as it is."""
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


def _folders(text: str) -> Sequence[Path]:
    """Read "own" or "/srv/own:/srv/more"."""
    folders = [Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part.strip()]
    if absent := [str(folder) for folder in folders if not folder.is_dir()]:
        raise ValueError(f"there is no folder {absent[0]}; make it first")
    return tuple(dict.fromkeys(folders))


def _dialogs(text: str) -> str | frozenset[str]:
    """Read "all", "none", or "planner, profile"."""
    if text.strip() in ("all", "none"):
        return text.strip()
    names = frozenset(text.replace(",", " ").split())
    if unknown := sorted(names - set(shipped())):
        raise ValueError(f"there is no dialog {unknown[0]!r}; there are: {', '.join(shipped())}")
    return names


class Extensions(BaseSettings):
    """Which folders are searched, and which of the shipped dialogs are on."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore")

    extensions: Annotated[tuple[Path, ...], NoDecode, written(_folders)] = ()
    shipped_dialogs: Annotated[frozenset[str] | Literal["all", "none"], NoDecode, written(_dialogs)] = "all"
    lab_folder: Path = Path("var/lab")


def shipped() -> list[str]:
    """Return the names of the dialogs that come with the application."""
    return _names(ROOT, "dialogs")


def use(settings: Extensions) -> None:
    """Let the folders be searched from now on; those of an earlier call are searched no more.

    Raises:
        ConfigError: two folders have a dialog or an observer of the same name, or a package is broken.
    """
    roots = tuple(dict.fromkeys((*settings.extensions, *_installed())))
    chosen = settings.shipped_dialogs
    off = frozenset() if chosen == "all" else frozenset(shipped()) - (set() if chosen == "none" else chosen)
    if (roots, off) == (prompts.EXTENSIONS, prompts.OFF):
        return
    for package in PACKAGES:
        _refuse_clashes(roots, package.__name__)
    for package in PACKAGES:
        before = {str(root / package.__name__) for root in prompts.EXTENSIONS}
        own = [str(root / package.__name__) for root in roots]
        package.__path__ = [*(path for path in package.__path__ if path not in before), *own]
    importlib.invalidate_caches()
    prompts.EXTENSIONS, prompts.OFF = roots, off
    prompts.read_anew()


@cache
def _installed() -> Sequence[Path]:
    """Return the folders of the installed packages that bring dialogs, in the order of their entry points' names."""
    folders: list[Path] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            spec = find_spec(entry.module)
        except ImportError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"the entry point {entry.name} of {GROUP} must name a package, found {entry.value!r}")
        folders += [Path(folder).resolve() for folder in spec.submodule_search_locations]
    return folders


def _refuse_clashes(roots: Sequence[Path], kind: str) -> None:
    places: dict[str, Path] = {}
    for root in (ROOT, *roots):
        for name in _names(root, kind):
            if name in places:
                raise ConfigError(f"{kind}/{name} is in {places[name]} and in {root}: rename one of them")
            places[name] = root


def _names(root: Path, kind: str) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules([str(root / kind)]))
