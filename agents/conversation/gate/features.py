"""The features for the trained gate: the shape of a message, its words, and the dialog of their subject.

A feature is a name with a value. The name of a word has its stem, so the weights can be read; all other features hold
for any dialog and language.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from agents.conversation.scene import Scene
from agents.language.text.stems import stems, words
from agents.language.text.vocabulary import mentions, phrases, small_words

LENGTHS = (2, 3, 5, 8, 12, 18)
"""Numbers of words at which a message counts as longer."""
MOST_REPLY_STEMS = 12
"""Stems at the end of the last reply that are features."""
LONGEST_TEXT = 400
"""Characters to look at: the first of the message, the last of the reply before."""
KEPT = 200
"""Texts whose readings are kept: a turn reads the texts of the turns before again."""
HIGHEST_OVERLAP = 3.0
"""The highest value of a feature that measures an overlap."""
POLITE = ("yes", "no", "thanks", "goodbye", "done")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[？！。])")
_QUOTED = re.compile(r"(?<!^)(?:“[^”]*”|«[^»]*»|「[^」]*」|\"[^\"]*\")")
"""A quotation within a reply; some models put all of their words in quotation marks."""
_DIGIT = re.compile(r"\d")
Features = dict[str, float]
Stems = frozenset[str]


def asks(reply: str) -> bool:
    """Tell whether a reply asks the user something: a question that it only quotes does not count."""
    return bool(last_question(reply))


@lru_cache(maxsize=KEPT)
def last_question(reply: str) -> str:
    """Return the last sentence of a reply that asks; empty if none does."""
    if {"?", "？"}.isdisjoint(reply):
        return ""
    unquoted = _QUOTED.sub(lambda quoted: re.sub("[?？]", "-", quoted[0]), reply)
    question = next((it for it in reversed(_SENTENCE.split(unquoted)) if {"?", "？"} & {*it}), "")
    start = unquoted.rfind(question)
    return reply[start : start + len(question)]


def request(reply: str, lang: str) -> str:
    """Return the last question of a reply; empty if none asks, or if it only offers further help."""
    question = last_question(reply)
    return "" if any(mentions(idea, question, lang) for idea in ("anything_else", "offering")) else question


def ending(reply: str) -> str:
    """Return the end of a reply, at most LONGEST_TEXT characters: from its last question on if it asks something."""
    question = last_question(reply)
    return reply[reply.rfind(question) if question else 0 :][-LONGEST_TEXT:]


def features(scene: Scene) -> Features:
    """Return the features of the message of a scene."""
    moment = _Moment(scene)
    named: Features = dict.fromkeys([*_shape(moment), *_politeness(moment), *_wording(moment)], 1.0)
    manner = next((idea for idea in ("no", "yes") if f"begins {idea}" in named), "other")
    return {**named, **_subjects(moment, scene, manner)}


class _Moment:
    """A scene in words."""

    def __init__(self, scene: Scene) -> None:
        self.lang, self.text, reply = scene.lang, scene.text[:LONGEST_TEXT], (scene.reply or "")[-LONGEST_TEXT:]
        self.stems, self.reply_stems = _stems_of(self.text, self.lang), _stems_of(reply, self.lang)
        # The number of LENGTHS that the message reaches.
        self.length = bisect_right(LENGTHS, len(words(self.text)))
        self.question = last_question(reply)
        is_offer = any(entry in _spaced(self.question) for entry in phrases("anything_else", self.lang))
        # The reply asks nothing (N), something (Q), or whether there is anything else (E).
        self.asked = "E" if is_offer else "Q" if self.question else "N"


def _shape(moment: _Moment) -> Iterator[str]:
    length, query, kind = moment.length, moment.asked, _kind(moment)
    digits = "D" if _DIGIT.search(moment.text) else "d"
    sentence = "?" if asks(moment.text) else "."
    yield from (f"length {length}", f"length {length} {query}", f"asked {query}", f"kind {kind}", f"digits {digits}")
    yield from (f"kind {kind} {digits}{min(length, 3)}", f"sentence {sentence}", f"sentence {sentence} {query}")


def _kind(moment: _Moment) -> str:
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
    for stem in set(moment.stems):
        yield from (f"w={stem}", f"w{moment.asked}={stem}")
    row = ["^", *moment.stems, "$"]
    yield from (f"b={left} {right}" for left, right in pairwise(row))
    yield from (f"r={stem}" for stem in set(moment.reply_stems[-MOST_REPLY_STEMS:]))


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


class Field:
    """The vocabularies of a dialog and of all dialogs and tools that could take its place."""

    def __init__(self, own: Stems, others: tuple[tuple[str, Stems], ...]) -> None:
        frequency = Counter(stem for vocabulary in (own, *(other for _, other in others)) for stem in vocabulary)
        total = len(others) + 2
        every = frozenset().union(*(other for _, other in others))
        self.own = own
        # The dialog's stems that no other has, and the stems of all others that are not the dialog's.
        self.alone, self.foreign = own - every, every - own
        # The stems of each other dialog or tool, by its name, less the dialog's own.
        self.apart = {name: other - own for name, other in others}
        # The weight of a stem for the subject, from 0 (all have it) to 1 (only one has it).
        most = math.log(total / 1.5)
        self.rarity = {stem: max(0.0, math.log(total / (count + 0.5))) / most for stem, count in frequency.items()}

    def weight(self, of: Stems) -> float:
        """Return the weight of some stems for the subject."""
        return min(HIGHEST_OVERLAP, math.fsum(self.rarity.get(stem, 0.0) for stem in of))

    def best(self, of: Stems) -> float:
        """Return the weight of some stems for the other dialog that they fit best."""
        return max((self.weight(of & other) for other in self.apart.values()), default=0.0)


def _subjects(moment: _Moment, scene: Scene, manner: str) -> Features:
    """Return the features that compare the message with the subjects at hand, and with the messages before.

    `manner`: the message begins with a yes, with a no or with anything else.
    """
    field, lang, query = _field_of(scene), scene.lang, moment.asked
    said_before = [content(_stems_of(text[-LONGEST_TEXT:], lang), lang) for text in scene.before]
    before, latest = frozenset[str]().union(*said_before), said_before[-1] if said_before else frozenset[str]()
    message, reply = content(moment.stems, lang), content(moment.reply_stems, lang)
    mine, best = field.weight(message & field.own), field.best(message)
    new, repeated = len(message - reply - before - field.own), len(message & reply)
    paused = max((field.weight(message & field.apart.get(name, frozenset())) for name in scene.paused), default=0.0)
    question = content(_stems_of(moment.question, lang), lang)
    asked_own, asked_best = field.weight(question & field.own), field.best(question)
    # The question may speak of the dialog's own subject, and more of another's: "Shall I book it?".
    whose = f"{'o' if asked_own else '-'}{'f' if asked_best > asked_own else '=' if asked_best else '-'}"
    relation = f"{'o' if mine else '-'}{'f' if best > mine else '-'}{'r' if repeated else '-'}"
    holds = {
        f"relation {relation} {query}": True,
        f"relation {relation[:2]} {'?' if asks(moment.text) else '.'}": True,
        f"relation {relation} {min(4, moment.length)}": True,
        f"new {min(new, 6)}": True,
        f"new {min(new, 6)} {query}": True,
        "own": mine > 0,
        f"own {query}": mine > best,
        "foreign": best > 0,
        f"foreign {query}": best > 0,
        f"foreign {min(3, len(message & field.foreign))}": best > 0,
        "rather foreign": best > mine,
        f"rather foreign {query}": best > mine,
        "alone": bool(message & field.alone),
        f"alone {query}": bool(message & field.alone),
        "paused": paused > 0,
        "has paused": bool(scene.paused),
        "repeats": repeated > 0,
        f"question {whose}": bool(moment.question),
        f"question {whose} {manner}": bool(moment.question),
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
        "question foreign less own": asked_best - asked_own,
        "reply own": field.weight(reply & field.own),
        "reply foreign": field.best(reply),
        "before own": field.weight(latest & field.own),
        "before foreign": field.best(latest),
    }
    named = {name: 1.0 for name, is_so in holds.items() if is_so}
    return {**named, **{name: value for name, value in measures.items() if value}, **_pairs(message, scene)}


def _pairs(message: Stems, scene: Scene) -> Features:
    """Return each stem of the message with each stem of the dialog's description: "snow" may go with "weather"."""
    described = _vocabulary("", scene.description, (), scene.lang)
    value = 1 / math.sqrt(len(described) or 1)
    return {f"p={stem}|{other}": value for stem in message for other in described}


def own_words(scene: Scene) -> Stems:
    """Return the stems of the dialog's description, and of people's example requests for it."""
    return _words_of(scene, scene.dialog, scene.description)


def _field_of(scene: Scene) -> Field:
    texts = {**scene.tools, **scene.helpers}
    others = tuple((name, _words_of(scene, name, text)) for name, text in texts.items())
    return _field(own_words(scene), others)


def _words_of(scene: Scene, name: str, text: str) -> Stems:
    return _vocabulary(name, text, tuple(scene.examples.get(name, ())), scene.lang)


_field = lru_cache(maxsize=200)(Field)


@lru_cache(maxsize=2_000)
def _vocabulary(name: str, description: str, examples: tuple[str, ...], lang: str) -> Stems:
    return content(tuple(stems(" ".join([name.replace("_", " "), description, *examples]), lang)), lang)


@lru_cache(maxsize=KEPT)
def _stems_of(text: str, lang: str) -> tuple[str, ...]:
    return tuple(stems(text, lang))


@lru_cache(maxsize=KEPT)
def content(row: tuple[str, ...], lang: str) -> Stems:
    """Return those of some stems that name a text's subject."""
    return frozenset(stem for stem in row if len(stem) > 1) - _empty(lang)


@cache
def _empty(lang: str) -> Stems:
    polite = (stem for idea in POLITE for entry in phrases(idea, lang) for stem in stems(entry, lang))
    return small_words(lang) | frozenset(polite)
