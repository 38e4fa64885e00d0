"""The forms of providers and their common conversation, from `providers.toml`."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

FILE = Path(__file__).parent / "providers.toml"
Kind = Literal["words", "question", "switch", "picture", "refusal", "cut", "stop"]
KEY = "k"
"""The key of every form; no server here looks at it."""


@dataclass(frozen=True)
class Said:
    """A turn of the conversation, and its required outcome."""

    name: str
    text: str
    kind: Kind = "words"
    says: str = ""
    """The text that the user must read; empty: any text."""
    tools: Sequence[str] = ()
    """The tools that must succeed, in their order; empty: no check."""
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    """The to-dos that the turn must add and remove."""


@dataclass(frozen=True)
class ProviderForm:
    """A form of a provider: its model's name in LLM_MODEL, and its address."""

    name: str
    model: str
    base: str = ""
    """The path of OPENAI_BASE_URL; empty: the provider's own class finds its address."""
    sees: bool = False
    """Whether it gets pictures."""
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    def address(self, url: str) -> str:
        """Return the OPENAI_BASE_URL of the form; empty if it has none."""
        return f"{url}{self.base}" if self.base else ""

    def environment(self, url: str) -> dict[str, str]:
        """Return the environment of a form, apart from the model, its address and its key."""
        shared = {name: value.format(url=url) for name, value in _table()["environment"].items()}
        wanted = {**self.parameters, **({"images": True} if self.sees else {})}
        parameters = {"LLM_PARAMETERS": json.dumps({"default": wanted})} if wanted else {}
        return {**shared, **self.settings, **parameters}

    def model_settings(self, url: str) -> dict[str, str]:
        """Return the settings that name the model, its address and its key."""
        address = self.address(url)
        place = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": KEY} if address else {}
        return {"LLM_MODEL": self.model, **place}


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text("utf-8"))


def forms() -> list[ProviderForm]:
    """Return all forms of the table."""
    return [ProviderForm(**entry) for entry in _table()["forms"]]


def conversation() -> list[Said]:
    """Return the turns of the conversation without its long end."""
    return [Said(**entry) for entry in _table()["turns"]]


def long_end(turns: int) -> list[Said]:
    """Return so many more turns, beyond a history's limit; every other one writes."""
    opening = next(message for message in conversation() if message.name == "handoff")
    return [opening, *(_of_long_end(number) for number in range(1, turns))] if turns else []


def _of_long_end(number: int) -> Said:
    name, says = f"long history {number}", f"that is number {number}"
    if number % 2 == 0:
        return Said(name, f"SAY {says}", says=says)
    item = f"thing {number}"
    call = json.dumps({"items": [item]})
    return Said(name, f"CALL add_todos {call} >> SAY {says}", says=says, tools=["add_todos"], adds=[item])
