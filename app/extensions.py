"""A team's own folders, searched beside the shipped ones for dialogs, observers, plug-ins and prompts."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

import prompts
from agents.discovery import ROOT, load_each
from agents.errors import ConfigError
from app.process.extras import install_command

if TYPE_CHECKING:
    from agents.plugin import Plugin

GROUP = "dialog_supervisor.dialogs"
"""The entry points of installed packages with such a folder; each names its package."""
PLUGINS = "app.plugins"
"""The package of the shipped plug-ins; nothing imports it by a statement, since each of them may be left out."""
PACKAGES = {"dialogs": "dialogs", "observers": "observers", "plugins": PLUGINS}
"""The packages that such a folder extends, by the name of its subfolder."""
Chosen = frozenset[str] | Literal["all", "none"]


def written(read: Callable[[str], object]) -> BeforeValidator:
    """Return a validator that reads a setting from text; it leaves any other value as it is."""
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


def _folders(text: str) -> Sequence[Path]:
    """Read "own" or "/srv/own:/srv/more"."""
    folders = [Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part.strip()]
    if absent := [str(folder) for folder in folders if not folder.is_dir()]:
        raise ValueError(f"there is no folder {absent[0]}; make it first")
    return tuple(dict.fromkeys(folders))


def _chosen(text: str) -> str | frozenset[str]:
    """Read "all", "none", or "planner, profile"."""
    return text.strip() if text.strip() in ("all", "none") else frozenset(text.replace(",", " ").split())


class Extensions(BaseSettings):
    """The searched folders, and the shipped dialogs and plug-ins that are on."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", allow_inf_nan=False)

    extensions: Annotated[tuple[Path, ...], NoDecode, written(_folders)] = ()
    shipped_dialogs: Annotated[Chosen, NoDecode, written(_chosen)] = "all"
    plugins: Annotated[Chosen, NoDecode, written(_chosen)] = "all"


def shipped(kind: str) -> list[str]:
    """Return the names of the "dialogs", the "observers" or the "plugins" that come with the application."""
    return _names(ROOT / "app" if kind == "plugins" else ROOT, kind)


def plugin_names(roots: Iterable[Path]) -> list[str]:
    """Return the names of all plug-ins, on or off: the shipped ones, and those in these folders."""
    return [*shipped("plugins"), *(name for root in roots for name in _names(root, "plugins"))]


def plugins() -> dict[str, "Plugin"]:
    """Load every plug-in that is on and has its packages, by name: shipped, of EXTENSIONS, and of installed packages.

    Raises:
        ContractError: a plug-in breaks a rule.
    """
    return {name: plugin for name, plugin in _loaded().items() if not lacking(plugin)}


def uninstalled() -> dict[str, str]:
    """Return the install command of each plug-in that is off for want of its packages. Raises as `plugins`."""
    return {name: how for name, plugin in _loaded().items() if (how := lacking(plugin))}


def module_of(name: str) -> str:
    """Return the module that defines a loaded plug-in or dialog."""
    return next((module for module in (f"{PLUGINS}.{name}", f"dialogs.{name}") if module in sys.modules), "")


def _loaded() -> dict[str, "Plugin"]:
    # A command that reads rows alone imports nothing of what plug-ins may declare.
    kind: type[Plugin] = importlib.import_module("agents.plugin").Plugin
    return load_each(PLUGINS, importlib.import_module(PLUGINS).__path__, kind, prompts.OFF)


def lacking(plugin: "Plugin") -> str:
    """Return the command that installs the packages that a plug-in lacks; empty if it has them."""
    return "" if all(map(_is_there, plugin.packages)) else install_command(plugin.extra)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def use(settings: Extensions) -> None:
    """Let the folders be searched from now on; those of an earlier call are searched no more.

    Raises:
        ConfigError: two folders have a dialog, a plug-in or an observer of the same name, a package is broken, or a
            setting has a name of nothing that exists.
    """
    roots = tuple(dict.fromkeys((*settings.extensions, *_installed())))
    off = _off("SHIPPED_DIALOGS", shipped("dialogs"), settings.shipped_dialogs)
    off |= _off("PLUGINS", plugin_names(roots), settings.plugins)
    if (roots, off) == (prompts.EXTENSIONS, prompts.OFF):
        return
    for kinds in (("dialogs", "plugins"), ("observers",)):
        _refuse_clashes(roots, kinds)
    for kind, name in PACKAGES.items():
        package = importlib.import_module(name)
        before = {str(root / kind) for root in prompts.EXTENSIONS}
        own = [str(root / kind) for root in roots]
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


def _off(setting: str, names: Sequence[str], chosen: Chosen) -> frozenset[str]:
    """Return the names that a setting leaves out."""
    if chosen == "all":
        return frozenset()
    on = frozenset[str]() if chosen == "none" else frozenset(chosen)
    if unknown := sorted(on.difference(names)):
        raise ConfigError(f"{setting}: there is no {unknown[0]!r}; there are: {', '.join(names)} (see .env.example)")
    return frozenset(names) - on


def explained(name: str) -> list[Path]:
    """Return the files that explain the settings of a plug-in or a dialog, which may be off."""
    folders = [root / kind for root in (ROOT / "app", ROOT, *prompts.EXTENSIONS) for kind in ("plugins", "dialogs")]
    return [file for folder in folders if (file := folder / name / ".env.example").is_file()]


def _refuse_clashes(roots: Sequence[Path], kinds: Iterable[str]) -> None:
    """Refuse two parts of the same name: the texts of a name in `prompts/` belong to one dialog or plug-in."""
    places: dict[str, Path] = {}
    for kind in kinds:
        for root in (ROOT, *roots):
            for name in shipped(kind) if root == ROOT else _names(root, kind):
                if name in places:
                    raise ConfigError(f"{kind}/{name} is in {places[name]} and in {root}: rename one of them")
                places[name] = root


def _names(root: Path, kind: str) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules([str(root / kind)]))
