"""The lab's folder: YAML files that a team can review, one folder for each kind."""

import re
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import BaseModel

from agents.plugin import PluginSettings
from app.plugins.lab.refusal import LabRefusal
from app.process.files import replace_file
from app.settings import read
from app.yaml_file import parsed

Kind = Literal["cases", "desk", "mocks", "queries", "runs", "users", "variants"]
"""The folders of files that a team writes and deletes one by one."""
Part = TypeVar("Part", bound=BaseModel)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
LARGEST = 5_000_000
"""The most bytes of a file that is read."""


class LabSettings(PluginSettings):
    """The folder of the lab's files."""

    lab_folder: Path = Path("var/lab")


def named_after(text: str) -> str:
    """Return a name for a file, made from a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "unnamed"


@dataclass(frozen=True)
class LabFolder:
    """Reads and writes the lab's files; none of another folder."""

    root: Path

    def path(self, kind: str, name: str) -> Path:
        """Return the path of a file. Raises UsageError if the name is not fit for a file."""
        if not NAME.fullmatch(name):
            raise LabRefusal("file_name", name=name[:80])
        return self.root / kind / f"{name}.yaml"

    def existing(self, kind: str, name: str) -> Path:
        """Return the path of a file. Raises UsageError if there is no such file."""
        path = self.path(kind, name)
        if not path.is_file():
            raise LabRefusal("no_file", path=path.relative_to(self.root))
        return path

    def names(self, kind: str) -> list[str]:
        """Return the names of the files of a kind."""
        return sorted(path.stem for path in (self.root / kind).glob("*.yaml") if NAME.fullmatch(path.stem))

    def read(self, kind: str, name: str, model: type[Part]) -> Part:
        """Return the content of a file. Raises UsageError: there is no such file, or something in it is wrong."""
        path = self.existing(kind, name)
        text = path.read_text("utf-8") if path.stat().st_size <= LARGEST else ""
        return parsed(text, model, str(path.relative_to(self.root)))

    def every(self, kind: str, model: type[Part], *names: str) -> dict[str, Part]:
        """Return files of a kind by their names: these, or all without any. Raises UsageError as `read` does."""
        return {name: self.read(kind, name, model) for name in names or self.names(kind)}

    def write(self, kind: str, name: str, part: BaseModel) -> Path:
        """Write a file whole and return its path. Raises UsageError if the name is not fit for a file."""
        path = self.path(kind, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, written(part))
        return path

    def add(self, kind: str, name: str, part: BaseModel) -> str:
        """Write a new file and return its name: this one, or one like it if a file of the kind has it."""
        free = self.free(kind, name)
        self.write(kind, free, part)
        return free

    def free(self, kind: str, name: str) -> str:
        """Return a name that no file of a kind has: this one, or one like it."""
        taken = {*self.names(kind)}
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        return next(it for it in names if it not in taken)

    def delete(self, kind: str, name: str) -> None:
        """Delete a file. Raises UsageError if there is no such file."""
        self.existing(kind, name).unlink()


def lab_folder() -> LabFolder:
    """Return the lab's files, from the folder in the settings. Raises ConfigError."""
    return LabFolder(read(LabSettings).lab_folder)


class _Plain(yaml.CSafeDumper):
    """Writes YAML without anchors and aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Write no aliases."""
        return True


def written(part: BaseModel) -> str:
    """Return the YAML of a part, without fields at their defaults."""
    data = part.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return yaml.dump(data, Dumper=_Plain, allow_unicode=True, sort_keys=False, width=110)
