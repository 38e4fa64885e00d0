"""Refusals of the lab, in the visitor's language."""

from agents.errors import UsageError
from app.plugins.lab.reasons import PHRASES
from prompts import FALLBACK, sentence


class LabRefusal(UsageError):
    """The lab refuses a request; `key` names the sentence, in `refused` of its phrases."""

    def __init__(self, key: str, /, **facts: object) -> None:
        self.key, self.facts = key, facts
        super().__init__(self.told(FALLBACK))

    def told(self, lang: str) -> str:
        """Return the sentence in a language."""
        return sentence(PHRASES, f"refused.{self.key}", lang, **self.facts)
