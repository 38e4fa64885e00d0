"""Whose subject a message is about: the dialog's own, another dialog's or tool's, or a new one."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from agents.conversation.scene import Scene
from agents.language.text.stems import stems
from agents.language.text.vocabulary import phrases, small_words

Features = dict[str, float]
Stems = frozenset[str]
POLITE = ("yes", "no", "thanks", "goodbye", "done")
HIGHEST_OVERLAP = 3.0
"""The highest value of a feature that measures an overlap."""


@dataclass(frozen=True)
class Heard:
    """What was said, in stems, and what is known of it."""

    message: tuple[str, ...]
    reply: tuple[str, ...]
    question: tuple[str, ...]
    """The question in the reply; empty without a question."""
    before: tuple[str, ...]
    asked: str
    """What the reply asks: nothing (N), something (Q), or whether there is anything else (E)."""
    length: int
    """A class of lengths of the message, from 0."""
    accepts: bool
    """Whether the message begins with a yes."""


@dataclass(frozen=True)
class Field:
    """The vocabularies of a dialog and of all that could take its place."""

    own: Stems
    alone: Stems
    """The dialog's stems that no other has."""
    apart: Mapping[str, Stems]
    """Of each other, by name, the stems that are not the dialog's."""
    foreign: Stems
    """The stems of all others that are not the dialog's."""
    rarity: Mapping[str, float]
    """How much a stem says about the subject, from 0 (all have it) to 1 (only one has it)."""

    def weight(self, of: Stems) -> float:
        """Return how much some stems say."""
        return min(HIGHEST_OVERLAP, math.fsum(self.rarity.get(stem, 0.0) for stem in of))

    def best(self, of: Stems) -> float:
        """Return how much some stems say of the other that they fit best."""
        return max((self.weight(of & other) for other in self.apart.values()), default=0.0)


def subjects(heard: Heard, scene: Scene) -> Features:
    """Return the features that compare the message with the subjects at hand, and with what was said before."""
    field, lang = field_of(scene), scene.lang
    message, reply, before = (content(part, lang) for part in (heard.message, heard.reply, heard.before))
    mine, best = field.weight(message & field.own), field.best(message)
    new, repeated = len(message - reply - before - field.own), len(message & reply)
    paused = max((field.weight(message & field.apart.get(name, frozenset())) for name in scene.paused), default=0.0)
    question = content(heard.question, lang)
    offers = field.best(question) > field.weight(question & field.own)
    relation = f"{'o' if mine else '-'}{'f' if best > mine else '-'}{'r' if repeated else '-'}"
    holds = {
        f"relation {relation} {heard.asked}": True,
        f"relation {relation} {min(4, heard.length)}": True,
        f"new {min(new, 6)}": True,
        f"new {min(new, 6)} {heard.asked}": True,
        "own": mine > 0,
        f"own {heard.asked}": mine > best,
        "foreign": best > 0,
        f"foreign {heard.asked}": best > 0,
        f"foreign {min(3, len(message & field.foreign))}": best > 0,
        "rather foreign": best > mine,
        f"rather foreign {heard.asked}": best > mine,
        "alone": bool(message & field.alone),
        f"alone {heard.asked}": bool(message & field.alone),
        "paused": paused > 0,
        "has paused": bool(scene.paused),
        "repeats": repeated > 0,
        "offer of another": offers,
        "yes to an offer of another": offers and heard.accepts,
    }
    measures = {
        "own weight": mine,
        "alone weight": field.weight(message & field.alone),
        "foreign weight": best,
        "paused weight": paused,
        "foreign less own": best - mine,
        "new words": min(new, 10) / 3,
        "share of new words": new / len(message) if message else 0.0,
        "repeated words": min(HIGHEST_OVERLAP, repeated),
        "words said before": min(HIGHEST_OVERLAP, len(message & before)),
    }
    named = {name: 1.0 for name, is_so in holds.items() if is_so}
    return {**named, **{name: value for name, value in measures.items() if value}, **_pairs(message, scene)}


def _pairs(message: Stems, scene: Scene) -> Features:
    """Return each stem of the message with each stem of the dialog's description: "snow" may go with "weather"."""
    described = _vocabulary("", scene.description, (), scene.lang)
    value = 1 / math.sqrt(len(described) or 1)
    return {f"p={stem}|{other}": value for stem in message for other in described}


def field_of(scene: Scene) -> Field:
    """Return the vocabularies of a scene."""
    others = {**scene.tools, **scene.helpers}
    return _field(_words_of(scene, scene.dialog, scene.description), tuple(_all(scene, others)))


def _all(scene: Scene, texts: Mapping[str, str]) -> Iterator[tuple[str, Stems]]:
    return ((name, _words_of(scene, name, text)) for name, text in texts.items())


def _words_of(scene: Scene, name: str, text: str) -> Stems:
    return _vocabulary(name, text, tuple(scene.examples.get(name, ())), scene.lang)


@lru_cache(maxsize=200)
def _field(own: Stems, others: tuple[tuple[str, Stems], ...]) -> Field:
    vocabularies = [own, *(other for _, other in others)]
    frequency = Counter(stem for vocabulary in vocabularies for stem in vocabulary)
    total = len(vocabularies) + 1
    most = math.log(total / 1.5)
    every = frozenset().union(*(other for _, other in others))
    return Field(
        own=own,
        alone=own - every,
        apart={name: other - own for name, other in others},
        foreign=every - own,
        rarity={stem: max(0.0, math.log(total / (count + 0.5))) / most for stem, count in frequency.items()},
    )


@lru_cache(maxsize=2_000)
def _vocabulary(name: str, description: str, examples: tuple[str, ...], lang: str) -> Stems:
    return content(tuple(stems(" ".join([name.replace("_", " "), description, *examples]), lang)), lang)


def content(row: tuple[str, ...], lang: str) -> Stems:
    """Return those of some stems that say what a text is about."""
    return frozenset(stem for stem in row if len(stem) > 1) - _empty(lang)


@cache
def _empty(lang: str) -> Stems:
    polite = (stem for idea in POLITE for entry in phrases(idea, lang) for stem in stems(entry, lang))
    return small_words(lang) | frozenset(polite)
