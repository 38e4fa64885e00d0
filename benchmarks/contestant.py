"""Who takes part in the benchmarks, and how; `contest` puts them together, for which it needs the peers' packages."""

from dataclasses import dataclass

from benchmarks.performing import Durability

OURS = "dialog-supervisor"


@dataclass(frozen=True)
class Contestant:
    """Who takes part, and how."""

    name: str
    durability: Durability
    in_words: bool = False
    """Whether answers are streamed word by word; else they come in one piece, which is cheaper for everybody."""

    slots: int | None = None
    """How many prompts the server of the models keeps, as far as the application is told."""

    @property
    def label(self) -> str:
        """The name with what it was entered with."""
        return f"{self.name} ({self.durability}{', streamed' if self.in_words else ''})"
