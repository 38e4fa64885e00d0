"""The sentences of the doors, by language: `prompts/<lang>/cli.toml`, `prompts/<lang>/telegram.toml`."""

from string import Template
from typing import Any

from prompts import FALLBACK, PromptError, table


def say(key: str, lang: str, /, **variables: object) -> str:
    """Return the sentence `key` ("bye", or "reply.lang_is" for one of a section), its `$variables` filled in.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    return sentence("cli", key, lang, **variables)


def sentence(door: str, key: str, lang: str, /, **variables: object) -> str:
    """Return a sentence of a door ("cli", "telegram"), its `$variables` filled in.

    Raises:
        PromptError: no language has the sentence, or a variable of it was not given.
    """
    text = _find(table(door, lang), key) or _find(table(door, FALLBACK), key)
    if text is None:
        raise PromptError(f"prompts/{FALLBACK}/{door}.toml has no sentence {key!r}")
    try:
        return Template(text).substitute({name: str(value) for name, value in variables.items()})
    except KeyError as missing:
        raise PromptError(f"prompts/{lang}/{door}.toml: {key!r} needs the variable ${missing.args[0]}") from None


def _find(entries: Any, key: str) -> str | None:
    for part in key.split("."):
        entries = entries.get(part, {})
    return entries if isinstance(entries, str) else None
