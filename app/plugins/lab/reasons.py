"""English sentences of traces and files in the visitor's language: reasons of decisions, problems of turns."""

import re

from app.assistant.records import Decided
from prompts import FALLBACK, retold, sentence

PHRASES, PROBLEMS = "lab/phrases", "lab/problems"
SCORED = re.compile(r"score (?P<score>-?[\d.]+): (?P<features>.*)")
WORDS = re.compile(r"(?P<kind>[a-z])[NQE]?=(?P<words>.+)")
"""The name of a feature with words: of the message, of the reply before it, or one of both and the dialog."""


def worded(made: Decided, lang: str) -> str:
    """Return the reason of a decision in a language; the words of a model or an author stay as they are."""
    if made.by != "gate" or not (scored := SCORED.fullmatch(made.reason)):
        why = retold("reasons", made.reason, lang)
        return sentence(PHRASES, "gate.because", lang, why=why) if made.by == "gate" else why
    features = dict.fromkeys(_feature(name, lang) for name in scored["features"].split(", ") if name)
    return sentence(PHRASES, "gate.looks", lang, why="; ".join(features), score=scored["score"])


def problem_text(key: str, /, **facts: object) -> str:
    """Return a problem of a turn, or the origin of a file, in English, the language of kept files."""
    return sentence(PROBLEMS, key, FALLBACK, **facts)


def _feature(name: str, lang: str) -> str:
    if has_words := WORDS.fullmatch(name):
        words = " ".join(has_words["words"].replace("|", " – ").strip("^$ ").split())
        key = "said" if has_words["kind"] == "r" else "edge" if not words else "word"
        return sentence(PHRASES, f"gate.{key}", lang, words=words)
    return sentence(PHRASES, f"gate.{name.partition(' ')[0]}", lang)
