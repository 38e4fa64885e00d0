"""The contestants of the benchmarks and their options; `contest` builds them, and needs the peers' packages."""

from dataclasses import dataclass

from benchmarks.performing import Durability

OURS = "dialog-supervisor"


@dataclass(frozen=True)
class Contestant:
    """A contestant and its options."""

    name: str
    durability: Durability
    in_words: bool = False
    """Whether answers stream word by word; else they come in one piece, which is cheaper for everybody."""

    slots: int | None = None
    """The number of prompts that the models' server keeps, as the application's setting says it."""

    @property
    def label(self) -> str:
        """The name with the options."""
        return f"{self.name} ({self.durability}{', streamed' if self.in_words else ''})"
