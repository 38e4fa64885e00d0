"""Words of a text, comparable: one Unicode form, one case, no endings; bigrams where words are not spaced."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock

import prompts
from prompts import language, languages

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+(?:['.\-](?:(?![{_CJK}])[^\W_])+)*[+#]*")
_IDEOGRAPHS = re.compile(rf"[{_CJK}]+")
_STEMMING = Lock()
"""A stemmer keeps its word in itself, and several threads read texts at a time."""
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "`": "'"})
SHORTEST_MISSPELT = 4
"""The least letters of a word whose spelling is checked."""
MOST_STRANGE = 2
"""The most words of a text that may be slips; with more of them it is about something else."""


@dataclass(frozen=True)
class PlacedWord:
    """A word in its comparable form, and its place in the plain text."""

    word: str
    start: int
    end: int


def plain(text: str) -> str:
    """Bring a text into one Unicode form (NFKC) with one kind of apostrophe; tokens point into this form."""
    return unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)


def tokens(text: str, size: int = 2) -> Iterator[PlacedWord]:
    """Yield the words of a text that is `plain` already; of CJK characters, each run of `size`."""
    for word in _WORD.finditer(text):
        start, end = word.span()
        if _IDEOGRAPHS.fullmatch(word[0]):
            for place in range(start, max(end - size + 1, start + 1)):
                yield PlacedWord(text[place : min(place + size, end)], place, min(place + size, end))
        else:
            yield PlacedWord(word[0].casefold().replace("ё", "е").replace("'", ""), start, end)


def words(text: str, size: int = 2) -> list[str]:
    """Return the words of a text, case-folded; runs of CJK characters become bigrams, or single characters."""
    return [*_words(text, size)]


# A turn searches one message for commands, names, yes and no, and cues.
@lru_cache(maxsize=500)
def _words(text: str, size: int) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(plain(text), size))


def stems(text: str, lang: str) -> list[str]:
    """Return the words of a text without their endings."""
    return [stem(word, lang) for word in words(text)]


def has_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Tell whether words follow each other in a text as they do in a phrase."""
    size = len(phrase)
    return any([*words[place : place + size]] == [*phrase] for place in range(len(words) - size + 1))


def is_slip(word: str, right_word: str) -> bool:
    """Tell whether a word is another one with a letter too many, left out or wrong, or two in the wrong order."""
    if abs(len(word) - len(right_word)) > 1:
        return False
    pairs = enumerate(zip(word, right_word, strict=False))
    begun = next((at for at, (letter, other) in pairs if letter != other), min(len(word), len(right_word)))
    rest, right = word[begun:], right_word[begun:]
    # A short word with one letter changed is another word.
    changed = [right[:1] + rest[1:]] if len(word) > SHORTEST_MISSPELT else []
    return right in (rest[1:], right[:1] + rest, rest[1:2] + rest[:1] + rest[2:], *changed)


def spelt(text: str, lexicon: Collection[str]) -> str:
    """Return the words of a text; one or two strange ones are corrected if just one word of the lexicon is near."""
    row = words(text, 1)
    strange = {word for word in row if word not in lexicon and len(word) >= SHORTEST_MISSPELT}
    if not 0 < len(strange) <= MOST_STRANGE:
        return text
    # One slip leaves the first or the last letter as it is, and this is much quicker to tell.
    near = {odd: [entry for entry in lexicon if _shares_an_end(odd, entry) and is_slip(odd, entry)] for odd in strange}
    return " ".join(near[word][0] if len(near.get(word, ())) == 1 else word for word in row)


def _shares_an_end(word: str, other: str) -> bool:
    return word[:1] == other[:1] or word[-1:] == other[-1:]


@lru_cache(maxsize=20_000)
def stem(word: str, lang: str) -> str:
    """Cut the ending off a word, by the rules of the language of the word's script."""
    algorithm = language(language_of(word, lang)).stemmer
    if not algorithm:
        return word
    with _STEMMING:
        return _stemmer(algorithm)(word)


def language_of(word: str, lang: str) -> str:
    """Return the language of a word in a text of `lang`: `lang`, unless only another language has its letters."""
    by_language = alphabets()
    if lang not in by_language or by_language[lang].search(word):
        return lang
    return next((other for other, alphabet in by_language.items() if alphabet.search(word)), lang)


def letters_of(text: str, lang: str) -> int:
    """Return how many letters of a text are of a language's alphabet."""
    alphabet = alphabets().get(lang)
    return len(alphabet.findall(text)) if alphabet else 0


def alphabets() -> Mapping[str, re.Pattern[str]]:
    """Return the alphabets of the languages that declare one, the fallback's first."""
    return _alphabets(prompts.FOLDER)


@cache
def _alphabets(folder: Path) -> Mapping[str, re.Pattern[str]]:
    written = {lang: language(lang).letters for lang in languages()}
    return {lang: re.compile(f"[{letters}]", re.IGNORECASE) for lang, letters in written.items() if letters}


@cache
def _stemmer(algorithm: str) -> Callable[[str], str]:
    # Its tables take a tenth of a second, and few commands read a text.
    cut: Callable[[str], str] = import_module("snowballstemmer").stemmer(algorithm).stemWord
    return cut
