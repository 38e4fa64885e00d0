"""The sentences of the player, from `prompts/<lang>/player/phrases.toml`."""

from prompts import sentence


def said(key: str, lang: str, **facts: object) -> str:
    """Return one short sentence for the user. Raises PromptError if a language lacks it, or a fact is missing."""
    return sentence("player/phrases", key, lang, **facts)
