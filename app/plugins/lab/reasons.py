"""The reasons of the gate in words: why no observer was asked."""

import re

from app.assistant.recording import Decided
from prompts import sentence

PHRASES = "lab/phrases"
SCORED = re.compile(r"score (?P<score>-?[\d.]+): (?P<features>.*)")
WORDS = re.compile(r"(?P<kind>[a-z])[NQE]?=(?P<words>.+)")
"""The name of a feature that has words in it: of the message, of the reply before it, or one of both and the dialog."""


def worded(made: Decided, lang: str) -> str:
    """Return the reason of a decision: that of the gate in the words of a language, any other as it is."""
    if made.by != "gate":
        return made.reason
    if not (scored := SCORED.fullmatch(made.reason)):
        return sentence(PHRASES, "gate.because", lang, why=made.reason)
    features = dict.fromkeys(_feature(name, lang) for name in scored["features"].split(", ") if name)
    return sentence(PHRASES, "gate.looks", lang, why="; ".join(features), score=scored["score"])


def _feature(name: str, lang: str) -> str:
    if has_words := WORDS.fullmatch(name):
        words = " ".join(has_words["words"].replace("|", " – ").strip("^$ ").split())
        key = "said" if has_words["kind"] == "r" else "edge" if not words else "word"
        return sentence(PHRASES, f"gate.{key}", lang, words=words)
    return sentence(PHRASES, f"gate.{name.partition(' ')[0]}", lang)
