"""Files that define one thing each, called by the name of the file."""

import importlib
import os
import pkgutil
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import prompts
from agents.errors import ContractError, DialogSupervisorError
from agents.field_types import mistyped
from agents.foreign import Escaped, contained

Kind = TypeVar("Kind")
ROOT = Path(__file__).parents[1]
LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
LONGEST = 300
"""Characters of Python's message about a broken file."""


def load_each(
    package: str, path: Iterable[str], kind: type[Kind], off: Collection[str] = frozenset()
) -> dict[str, Kind]:
    """Load every file of a package but those that are `off`; return the definitions ("dialog" for a Dialog), by name.

    Raises:
        ContractError: a file cannot be loaded, defines none of this kind, or one that breaks a rule.
    """
    variable, place, values = kind.__name__.lower(), package.replace(".", "/"), dict[str, Kind]()
    folders = [*path]
    if hidden := next(filter(None, map(_hidden, folders)), None):
        raise ContractError(
            f"{place}/{hidden}.py is never read, since {place}/{hidden}/ has its name: rename one of them"
        )
    if bare := next(filter(None, map(_bare, folders)), None):
        raise ContractError(f"{place}/{bare} is never read, since it has no __init__.py: write one")
    for name in sorted({module.name for module in pkgutil.iter_modules(folders)}.difference(off)):
        if not name.isidentifier():
            raise ContractError(f"{place}/{name}.py: {name!r} is not a name: write letters, digits and _")
        value = getattr(load(f"{package}.{name}"), variable, None)
        if not isinstance(value, kind):
            expected = f"`{variable} = {kind.__name__}(...)`"
            raise ContractError(f"{place_of(f'{package}.{name}')} must define {expected}, found {value!r}")
        if wrong := mistyped(value):
            raise ContractError(f"{place_of(f'{package}.{name}')}: {kind.__name__}.{wrong}")
        values[name] = value
    return values


@cache
def _hidden(folder: str) -> str:
    """Return the place of a module that a package of the same name hides, below a folder; empty without one."""
    for inside, packages, files in os.walk(folder):
        for name in {f"{name}.py" for name in packages}.intersection(files):
            module = Path(inside, name).with_suffix("")
            if (module / "__init__.py").is_file():
                return module.relative_to(folder).as_posix()
    return ""


def _bare(folder: str) -> str:
    """Return the name of a folder with modules that is not a package; empty without one."""
    modules = sorted(path.parent for path in Path(folder).glob("[!_.]*/*.py"))
    return next((module.name for module in modules if not (module / "__init__.py").is_file()), "")


def load(module: str) -> ModuleType:
    """Import a module of ours. Raises ContractError: it cannot be loaded."""
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as broken:
        raise ContractError(_line(broken, module, *_imported_at(broken))) from broken


@contextmanager
def code_of(module: str) -> Iterator[None]:
    """Name the place in a module of ours, or in its folder, whose code fails. Raises ContractError."""
    try:
        with contained():
            yield
    except (DialogSupervisorError, prompts.PromptError):
        raise
    except Exception as failure:
        broken = failure.__cause__ if isinstance(failure, Escaped) and failure.__cause__ else failure
        source = getattr(sys.modules.get(module), "__file__", None) or "-"
        own = source.removesuffix("__init__.py")
        places = [frame for frame in traceback.extract_tb(broken.__traceback__) if frame.filename.startswith(own)]
        file, line = (places[-1].filename, places[-1].lineno) if places else ("", None)
        raise ContractError(_line(broken, module, file, line)) from broken


def _imported_at(broken: BaseException) -> tuple[str, int | None]:
    """Return the file and the line of ours that could not be loaded."""
    if isinstance(broken, SyntaxError) and broken.filename:
        return broken.filename, broken.lineno
    # Frames of libraries come after the last line of ours.
    places = [frame for frame in traceback.extract_tb(broken.__traceback__) if frame.name == "<module>"]
    # An annotation in quotes is a module of its own, without a file.
    others = (*LIBRARIES, "<")
    ours = [(frame.filename, frame.lineno) for frame in places if not frame.filename.startswith(others)]
    return ours[-1] if ours else ("", None)


def _line(broken: BaseException, module: str, file: str, line: int | None) -> str:
    """Return one line: the place and the fault of a module, or of one that it imports."""
    problem = broken.msg if isinstance(broken, SyntaxError) else str(broken)
    # The message of our own rule names the fault.
    kind = "" if isinstance(broken, ContractError) else f"{type(broken).__name__}: "
    reason = f"{kind}{' '.join(problem.split())}"[:LONGEST]
    return f"{place_of(module, file)}, line {line}: {reason}" if line else f"{place_of(module, file)}: {reason}"


def place_of(module: str, file: str = "") -> str:
    """Return the file of a module, or another `file`, as a developer writes it: "own/dialogs/shop/__init__.py"."""
    path = Path(file or getattr(sys.modules.get(module), "__file__", None) or "-")
    roots = (ROOT, *(root.parent for root in prompts.EXTENSIONS))
    root = next((root for root in roots if path.is_relative_to(root)), None)
    return path.relative_to(root).as_posix() if root else f"{module.replace('.', '/')}.py"
