"""The words of a language as the rules need them: cues, fillers, numbers; and the rules' own sentences."""

from string import Template
from typing import Any

from prompts import FALLBACK, table


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the rules' own sentences ("more", "ask.items")."""
    for candidate in (lang, FALLBACK):
        found: Any = table("rules", candidate)
        for part in key.split("."):
            found = found.get(part, {})
        if isinstance(found, str):
            return Template(found).substitute({name: str(value) for name, value in variables.items()})
    raise LookupError(f"prompts/{FALLBACK}/rules.toml has no sentence {key!r}")


def asking(slot: str, lang: str) -> str:
    """Return the question for a missing parameter."""
    known = {**table("rules", FALLBACK)["ask"], **table("rules", lang)["ask"]}
    return sentence(f"ask.{slot}", lang) if slot in known else sentence("ask.other", lang, name=slot)
