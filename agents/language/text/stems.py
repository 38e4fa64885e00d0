"""Words of a text, comparable: one Unicode form, one case, no endings; bigrams where words are not spaced."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

# it ships no types
import snowballstemmer  # type: ignore[import-untyped]

import prompts
from prompts import language, languages

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+(?:['.\-](?:(?![{_CJK}])[^\W_])+)*[+#]*")
_IDEOGRAPHS = re.compile(rf"[{_CJK}]+")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "`": "'"})


@dataclass(frozen=True)
class Token:
    """A word in its comparable form and the place in the plain text that it came from."""

    word: str
    start: int
    end: int


def plain(text: str) -> str:
    """Bring a text into one Unicode form (NFKC) with one kind of apostrophe; tokens point into this form."""
    return unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of a text that is `plain` already."""
    for word in _WORD.finditer(text):
        start, end = word.span()
        if _IDEOGRAPHS.fullmatch(word[0]):
            for place in range(start, max(end - 1, start + 1)):
                yield Token(text[place : min(place + 2, end)], place, min(place + 2, end))
        else:
            yield Token(word[0].casefold().replace("ё", "е").replace("'", ""), start, end)


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded; runs of CJK characters become bigrams."""
    return [*_words(text)]


# A turn looks at the same message for commands, names, yes and no, and cues.
@lru_cache(maxsize=500)
def _words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(plain(text)))


def stems(text: str, lang: str) -> list[str]:
    """Return the words of a text without their endings."""
    return [stem(word, lang) for word in words(text)]


@lru_cache(maxsize=20_000)
def stem(word: str, lang: str) -> str:
    """Cut the ending off a word; a word in the script of another language keeps the rules of that one."""
    algorithm = language(language_of(word, lang)).stemmer
    return _stemmer(algorithm)(word) if algorithm else word


def language_of(word: str, lang: str) -> str:
    """Return the language of a word in a text of `lang`: that one, unless only another one has its letters."""
    by_language = alphabets()
    if lang not in by_language or by_language[lang].search(word):
        return lang
    return next((other for other, alphabet in by_language.items() if alphabet.search(word)), lang)


def letters_of(text: str, lang: str) -> int:
    """Return how many letters of a text are of a language's alphabet."""
    alphabet = alphabets().get(lang)
    return len(alphabet.findall(text)) if alphabet else 0


def alphabets() -> Mapping[str, re.Pattern[str]]:
    """Return the alphabets of the languages that say theirs, the fallback's first."""
    return _alphabets(prompts.FOLDER)


@cache
def _alphabets(folder: Path) -> Mapping[str, re.Pattern[str]]:
    written = {lang: language(lang).letters for lang in languages()}
    return {lang: re.compile(f"[{letters}]", re.IGNORECASE) for lang, letters in written.items() if letters}


@cache
def _stemmer(algorithm: str) -> Callable[[str], str]:
    cut: Callable[[str], str] = snowballstemmer.stemmer(algorithm).stemWord
    return cut
