"""The words of a language: cues, fillers, numbers, the language of a text, and the phrases of ideas (yes, no, undo)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import dropwhile, pairwise
from typing import Any

from agents.language.text.stems import alphabets, letters_of, spelt, stem, stems, tokens, words
from prompts import FALLBACK, has_table, language, languages, table

LEAVE = ("done", "goodbye", "enough", "leave")
POLITE = ("thanks", "no", "fillers", "yes")
_CLAUSE = re.compile(r"(?:[^.,!?;:…—–，。！？；：、]|(?<=\d)[.,:](?=\d))+")


@dataclass(frozen=True)
class Unit:
    """A stem and where its word stands in the plain text."""

    stem: str
    start: int
    end: int


@dataclass(frozen=True)
class Vocabulary:
    """The word lists of one language; where words are not spaced, each character counts as one."""

    lang: str

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Return the word lists as they are written."""
        return table("words", self.lang)

    @property
    def spaced(self) -> bool:
        """Whether blanks stand between the words of the language."""
        return language(self.lang).spaced

    @cached_property
    def fillers(self) -> frozenset[str]:
        """Return the stems without a meaning of their own."""
        return self.listed("fillers")

    @cached_property
    def stop(self) -> frozenset[str]:
        """Return the stems that are too common to tell one wish from another."""
        return self.listed("stop", "fillers")

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Return numbers by the stem of their word; -1 is the last."""
        return {self.stems(word)[0]: number for word, number in self.table["numbers"].items()}

    def units(self, text: str) -> list[Unit]:
        """Return the stems of a plain text with their places; contracted words are written out."""
        units = []
        for token in tokens(text, 1):
            spelled = self.table["contractions"].get(token.word, token.word)
            units += [Unit(stem(word, self.lang), token.start, token.end) for word in spelled.split()]
        return units

    def stems(self, text: str) -> list[str]:
        """Return the stems of a text, contracted words written out."""
        return [stem(word, self.lang) for word in self.spelled(text)]

    def spelled(self, text: str) -> tuple[str, ...]:
        """Return the words of a text, contracted words written out."""
        return _spelled_out(self, text)

    def key(self, text: str) -> tuple[str, ...]:
        """Return the comparable part of a phrase: its stems without fillers, or all stems if it has only fillers."""
        stems = self.stems(text)
        return tuple(stem for stem in stems if stem not in self.fillers) or tuple(stems)

    def phrases(self, name: str) -> list[str]:
        """Return a list of phrases by its name, "yes" or "switch.phrases"; empty if there is no such list."""
        entry: Any = self.table
        for part in name.split("."):
            entry = entry.get(part, {})
        return list(entry)

    def listed(self, *names: str) -> frozenset[str]:
        """Return the stems of all phrases of these lists."""
        return frozenset().union(*(_listed(self, name) for name in names))

    def means(self, text: str, *names: str) -> bool:
        """Whether the whole text is one of the phrases of these lists."""
        exact = tuple(self.stems(text))
        short = self.key(text)
        return any(keys and (exact in keys or short in keys) for keys in (_phrase_keys(self, name) for name in names))

    def made_of(self, text: str, *names: str) -> frozenset[str]:
        """Return the lists of phrases that, with fillers, make up the whole text; empty if it says anything else."""
        row = tuple(self.stems(text))
        # For each place that phrases reach without a gap: the lists of these phrases.
        reached: dict[int, frozenset[str]] = {0: frozenset()}
        for place, word in enumerate(row):
            if place not in reached:
                continue
            for phrase, name in _phrases_of(self, names):
                if row[place : place + len(phrase)] == phrase:
                    reached.setdefault(place + len(phrase), reached[place] | {name})
            if word in self.fillers:
                reached.setdefault(place + 1, reached[place])
        return reached.get(len(row), frozenset())

    def behind(self, text: str, *names: str) -> tuple[str, ...] | None:
        """Return the stems behind a phrase of each list in turn at a text's beginning; None if one is missing."""
        row = tuple(self.stems(text))
        for name in names:
            begun = (len(phrase) for phrase, _ in _phrases_of(self, (name,)) if row[: len(phrase)] == phrase)
            if not (longest := next(begun, 0)):
                return None
            row = row[longest:]
        return row

    def past(self, text: str, name: str) -> str:
        """Return a plain text behind a phrase of a list at its beginning; without one, or with no more, the text."""
        rest, units = self.behind(text, name), self.units(text)
        return text[units[-len(rest)].start :] if rest else text

    def leads_to(self, text: str, names: Iterable[str]) -> bool:
        """Tell whether a text only says "go (back) to" the thing of one of these names: "back to my profile"."""
        rest = tuple(stem for stem in self.behind(text, "towards") or () if stem not in self.fillers)
        keys = [self.key(name) for name in names]
        rest = tuple(spelt(" ".join(rest), {stem for key in keys for stem in key}).split())
        return bool(rest) and any(rest in (key, key[1:]) for key in keys)

    def clauses(self, text: str) -> list[str]:
        """Return the clauses of a text without the words that join them."""
        clauses = _CLAUSE.findall(text)
        if self.spaced:
            # "Not at 3 but at 4" has no comma.
            joining = self.listed("joining")
            joints = [[unit.start for unit in self.units(clause) if unit.stem in joining] for clause in clauses]
            places = [[0, *row, len(clause)] for clause, row in zip(clauses, joints, strict=True)]
            clauses = [it[a:b] for it, row in zip(clauses, places, strict=True) for a, b in pairwise(row)]
        return [self.past(clause.strip(), "joining") for clause in clauses if clause.strip()]

    def is_small_talk(self, text: str) -> bool:
        """Whether a text only thanks, agrees, declines, takes leave or hesitates."""
        return bool(self.made_of(text, *POLITE, "goodbye", "wait"))

    def asks(self, text: str) -> bool:
        """Tell whether the text is a question."""
        stems = tuple(self.stems(text))
        # Where words are not spaced, they keep their order in a question, and its word stands anywhere.
        places = range(1 if self.spaced else len(stems))
        asking = [phrase for phrase, _ in _phrases_of(self, ("question",))]
        is_asked = any(stems[place : place + len(phrase)] == phrase for place in places for phrase in asking)
        return is_asked or text.rstrip().endswith(("?", "？"))


@cache
def vocabulary(lang: str) -> Vocabulary:
    """Return the word lists of a language, those of the fallback language where it has none."""
    return Vocabulary(lang)


# A turn compares one message with twenty lists of phrases.
@lru_cache(maxsize=500)
def _spelled_out(of: Vocabulary, text: str) -> tuple[str, ...]:
    contractions = of.table["contractions"]
    return tuple(part for word in words(text, 1) for part in contractions.get(word, word).split())


@cache
def _phrase_keys(words: Vocabulary, name: str) -> frozenset[tuple[str, ...]]:
    return frozenset(key for phrase in words.phrases(name) for key in (tuple(words.stems(phrase)), words.key(phrase)))


@cache
def _phrases_of(words: Vocabulary, names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the stems of the phrases of these lists, each with its list, the longest first."""
    pairs = {tuple(words.stems(entry)): name for name in names for entry in words.phrases(name)}
    return tuple(sorted(pairs.items(), key=lambda pair: -len(pair[0])))


@cache
def _listed(words: Vocabulary, name: str) -> frozenset[str]:
    return frozenset(stem for phrase in words.phrases(name) for stem in words.stems(phrase))


# The gate, the switch and the route ask this of the same message.
@lru_cache(maxsize=100)
def listening(text: str, lang: str) -> str:
    """Return the language of a text: the conversation's, unless the letters are plainly of another one.

    Names in the letters of the fallback stand in texts of every language; they decide only where they stand alone.
    A language without words of its own is read as the fallback.
    """
    heard = _by_letters(text, lang) if lang in alphabets() else lang
    return heard if has_table("words", heard) else FALLBACK


def _by_letters(text: str, lang: str) -> str:
    counts = {other: letters_of(text, other) for other in alphabets() if not _share_script(other, lang)}
    rival = max(counts, key=counts.__getitem__, default=lang)
    own = letters_of(text, lang)
    if own and not _share_script(lang, FALLBACK):
        return lang
    return rival if counts.get(rival, 0) > own else lang


@cache
def _share_script(lang: str, other: str) -> bool:
    return lang == other or letters_of(language(lang).letters[:1], other) > 0


def says(idea: str, text: str, lang: str) -> bool:
    """Tell whether a message consists of one phrase of the idea and nothing else; "don't" is "do not"."""
    return vocabulary(lang).spelled(text) in _spelled(idea, lang)


def is_said(idea: str, text: str) -> bool:
    """Tell whether a text says an idea ("yes", "no", "omit") in any language."""
    return any(says(idea, text, lang) for lang in languages())


def behind_no(text: str) -> str:
    """Return a text without a first clause that only says no: "no. undo" is "undo"."""
    head, *rest = _CLAUSE.findall(text) or [text]
    return " ".join(rest) if rest and is_said("no", head) else text


def corrected(text: str, lang: str) -> str:
    """Return a text behind a no of its own ("no, milk"), or behind a phrase of correction ("no, I meant milk")."""
    text, lexicon = instead(behind_no(text), lang), vocabulary(lang)
    rest, units = lexicon.behind(text, "correcting") or (), lexicon.units(text)
    begun = len(units) - len(rest)
    # "No problem" and "sorry for that" correct nothing; "sorry, milk" does.
    is_phrase = rest and (begun > 1 or (begun and text[units[0].end : units[1].start].strip()))
    return text[units[begun].start :] if is_phrase else text


def instead(text: str, lang: str) -> str:
    """Return the only clause beside a negated one, "at 4" for "not at 3, at 4"; a text without such as it is.

    "Not bad, thank you" and "not now, at 4" correct nothing: one of the clauses is small talk.
    """
    lexicon = vocabulary(lang)
    return text if any(map(lexicon.is_small_talk, lexicon.clauses(text))) else beside_denial(text, lang) or text


def beside_denial(text: str, lang: str) -> str:
    """Return the only clause beside a negated one, whatever it says; empty without such."""
    lexicon, clauses = vocabulary(lang), vocabulary(lang).clauses(text)
    kept = [clause for clause in clauses if lexicon.behind(clause, "negation") is None]
    return lexicon.past(lexicon.past(kept[0], "yes"), "wait") if len(kept) == 1 < len(clauses) else ""


def mentions(idea: str, text: str, lang: str, *, file: str = "words") -> str | None:
    """Return the first phrase of the idea anywhere in a message; `file` has the idea's phrases."""
    spaced = f" {' '.join(words(text))} "
    return next((entry.strip() for entry in phrases(idea, lang, file) if entry in spaced), None)


@cache
def _spelled(idea: str, lang: str) -> frozenset[tuple[str, ...]]:
    return frozenset(vocabulary(lang).spelled(phrase) for phrase in _entries(idea, lang, "words"))


@cache
def phrases(idea: str, lang: str, file: str = "words") -> tuple[str, ...]:
    """Return the phrases of an idea, with spaces around so that they only match whole words."""
    return tuple(f" {' '.join(words(phrase))} " for phrase in _entries(idea, lang, file))


def _entries(idea: str, lang: str, file: str) -> list[str]:
    entry = table(file, lang).get(idea, [])
    return list(entry.get("phrases", []) if isinstance(entry, dict) else entry)


@cache
def small_words(lang: str) -> frozenset[str]:
    """Return the stems of words without a meaning for a sentence's subject."""
    return frozenset(stem for idea in ("stop", "fillers") for word in phrases(idea, lang) for stem in stems(word, lang))


# The gate, the switch and the route ask this of the same message.
@lru_cache(maxsize=100)
def takes_leave(text: str, lang: str) -> frozenset[str]:
    """Return the lists of phrases in a message that only stops, says "that is all" or goodbye; empty for any other.

    It may also have thanks, yes, no and fillers, and one word may be misspelt.
    """
    lang = listening(text, lang)
    lexicon = vocabulary(lang)
    if set(words(text)).isdisjoint(lexicon.phrases("lookalikes")):
        text = spelt(text, spoken_in(lang, *POLITE, *LEAVE))
    # "Okay" is a yes only if no other reading fits.
    lists = lexicon.made_of(text, "thanks", "no", *LEAVE) or lexicon.made_of(text, "thanks", "yes", "no", *LEAVE)
    return frozenset() if lists.isdisjoint(LEAVE) else lists


def wishes(text: str, lang: str) -> bool:
    """Tell whether a clause of a message begins like an order or a wish, behind a yes or no and fillers."""
    lang = listening(text, lang)
    openings, joining = _spelled("wishing", lang), spoken_in(lang, "joining")
    skipped = spoken_in(lang, *POLITE) - {word for opening in openings for word in opening[:1] if len(opening) == 1}
    for clause in _CLAUSE.findall(text):
        row = vocabulary(lang).spelled(clause)
        for head in (0, *(place + 1 for place, word in enumerate(row) if word in joining)):
            # A skipped word may itself begin an opening: each character of "我需要" may be skipped.
            last = len(row) - len([*dropwhile(skipped.__contains__, row[head:])])
            places = range(head, last + 1)
            if any(row[place : place + size] in openings for place in places for size in (1, 2, 3, 4)):
                return True
    return False


@cache
def spoken_in(lang: str, *names: str) -> frozenset[str]:
    """Return the words of some lists, both as typed and spelled out."""
    lexicon = vocabulary(lang)
    listed = [phrase for name in names for phrase in lexicon.phrases(name)]
    typed = {word for phrase in listed for word in (*words(phrase), *lexicon.spelled(phrase))}
    return frozenset(typed | lexicon.table["contractions"].keys())
