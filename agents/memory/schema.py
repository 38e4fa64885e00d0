"""The tables of one owner, and the steps that have made them what they are."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tables:
    """Tables in the database file. A step is an SQL script that leads from one version to the next.

    Steps are only ever appended: a database may have come to any of them.
    """

    owner: str
    """Whose tables these are: "planner"."""
    steps: Sequence[str]
