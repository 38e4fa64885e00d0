"""What the trained gate looks at: the shape of a message, its words, and whose subject they belong to.

A feature is a name with a value. Names of words carry the stem, so the weights can be read; all others say something
that holds for any dialog and language.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from agents.conversation.gate import asks
from agents.conversation.gate.subjects import POLITE, Features, Heard, subjects
from agents.conversation.scene import Scene
from agents.language.text.stems import stems, words
from agents.language.text.vocabulary import phrases

LENGTHS = (2, 3, 5, 8, 12, 18)
"""Numbers of words at which a message counts as longer."""
MOST_REPLY_STEMS = 12
"""Stems at the end of the last reply that are features."""
LONGEST_TEXT = 400
"""Characters that are looked at: the first of the message, the last of what was said before."""
_SENTENCE = re.compile(r"(?<=[.!?…？！。])\s+")
_DIGIT = re.compile(r"\d")


def features(scene: Scene) -> Features:
    """Return the features of the message of a scene."""
    moment = _Moment.of(scene)
    named: Features = dict.fromkeys([*_shape(moment), *_politeness(moment), *_wording(moment)], 1.0)
    heard = Heard(
        message=moment.stems,
        reply=moment.reply_stems,
        question=tuple(stems(moment.question, moment.lang)),
        before=tuple(stem for text in scene.before for stem in stems(text[-LONGEST_TEXT:], moment.lang)),
        asked=moment.asked,
        length=moment.length,
        accepts=f"begins yes {moment.asked}" in named,
    )
    return {**named, **subjects(heard, scene)}


@dataclass(frozen=True)
class _Moment:
    """A scene in words."""

    lang: str
    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    reply_stems: tuple[str, ...]
    question: str
    """The last sentence of the reply that asks; empty if none does."""
    asked: str
    """What the reply asks: nothing (N), something (Q), or whether there is anything else (E)."""

    @property
    def length(self) -> int:
        """How many of the LENGTHS the message reaches."""
        return sum(len(self.words) >= edge for edge in LENGTHS)

    @classmethod
    def of(cls, scene: Scene) -> "_Moment":
        text, reply = scene.text[:LONGEST_TEXT], (scene.reply or "")[-LONGEST_TEXT:]
        question = next((part for part in reversed(_SENTENCE.split(reply)) if asks(part)), "")
        is_offer = question and _has(question, "anything_else", scene.lang)
        return cls(
            lang=scene.lang,
            text=text,
            words=tuple(words(text)),
            stems=tuple(stems(text, scene.lang)),
            reply_stems=tuple(stems(reply, scene.lang)),
            question=question,
            asked="E" if is_offer else "Q" if question else "N",
        )


def _shape(moment: _Moment) -> Iterator[str]:
    """Yield features of length, kind of sentence, and what was asked."""
    length, asked, kind = moment.length, moment.asked, _kind(moment)
    digits = "D" if _DIGIT.search(moment.text) else "d"
    sentence = "?" if asks(moment.text) else "."
    yield from (f"length {length}", f"length {length} {asked}", f"asked {asked}", f"kind {kind}", f"digits {digits}")
    yield from (f"kind {kind} {digits}{min(length, 3)}", f"sentence {sentence}", f"sentence {sentence} {asked}")


def _kind(moment: _Moment) -> str:
    """Return the question word of the last reply."""
    spaced = _spaced(moment.question)
    question_words = (entry.strip() for entry in phrases("question", moment.lang) if entry in spaced)
    return next(question_words, "other") if moment.question else "none"


def _politeness(moment: _Moment) -> Iterator[str]:
    """Yield features of yes, no, thanks, farewells and cues that the subject changes."""
    spaced = _spaced(moment.text)
    for idea in (*POLITE, "switch"):
        entries = [entry for entry in phrases(idea, moment.lang) if entry in spaced]
        if spaced in entries:
            yield from (f"is {idea}", f"is {idea} {moment.asked}")
        elif entries:
            yield f"has {idea}"
        if any(spaced.startswith(entry) for entry in entries):
            yield from (f"begins {idea}", f"begins {idea} {moment.asked}")


def _wording(moment: _Moment) -> Iterator[str]:
    """Yield the stems of the message, pairs of neighbours, and the last stems of the reply."""
    for stem in set(moment.stems):
        yield from (f"w={stem}", f"w{moment.asked}={stem}")
    row = ["^", *moment.stems, "$"]
    yield from (f"b={left} {right}" for left, right in pairwise(row))
    yield from (f"r={stem}" for stem in set(moment.reply_stems[-MOST_REPLY_STEMS:]))


def _has(text: str, idea: str, lang: str) -> bool:
    spaced = _spaced(text)
    return any(entry in spaced for entry in phrases(idea, lang))


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "
