"""Files that define one thing each, called by the name of the file."""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import TypeVar

from agents.errors import ContractError

Kind = TypeVar("Kind")


def load_each(package: str, path: Iterable[str], kind: type[Kind]) -> dict[str, Kind]:
    """Load every file of a package; return what it defines ("dialog" for a Dialog), by file name.

    Raises:
        ContractError: a file defines none of this kind, or one that breaks a rule.
    """
    wanted, found = kind.__name__.lower(), dict[str, Kind]()
    for name in sorted(module.name for module in pkgutil.iter_modules(path)):
        try:
            one = getattr(importlib.import_module(f"{package}.{name}"), wanted, None)
        except ContractError as broken:
            raise ContractError(f"{package}/{name}.py: {broken}") from broken
        if not isinstance(one, kind):
            expected = f"`{wanted} = {kind.__name__}(...)`"
            raise ContractError(f"{package}/{name}.py must define {expected}, found {one!r}")
        found[name] = one
    return found
