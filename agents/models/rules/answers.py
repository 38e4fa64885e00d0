"""Which words can be the answer to a question, and which only look like one: a sentence, a command, a pointer."""

from agents.models.rules.values import clean, items
from agents.text.stems import plain
from agents.text.stems import words as words_of
from agents.text.vocabulary import Vocabulary

LONGEST = 12
"""Words of an answer that names one thing; a longer one is a story."""


def is_answer(text: str, words: Vocabulary, *, may_command: bool = False) -> bool:
    """Tell whether a text is a plain list of names; in doubt it is not, because an answer is written down.

    With `may_command` a name may begin like a command, as a to-do does ("call mom").
    """
    if words.asks(text):
        return False
    names = items(text, words)
    return bool(names) and not _is_negated(text, words) and all(_is_name(name, words, may_command) for name in names)


def is_small(text: str, words: Vocabulary) -> bool:
    """Tell whether a text has no word that names anything ("the second one", "I can do everything")."""
    if words.means(text, "vague", "references.all"):
        return True
    stems = words.stems(text)
    small = words.stop | words.listed("pointing", "question", "answers.around")
    # One small word may be a name all the same: the language Go.
    small = small if len(stems) > 1 else words.listed("answers.around")
    return all(stem in small or stem in words.numbers or stem.isdecimal() for stem in stems)


def _is_name(text: str, words: Vocabulary, may_command: bool) -> bool:
    said = words_of(text)
    if is_small(text, words) or len(said) > LONGEST:
        return False
    if len(said) == 1 and text.isupper() and len(text) > 1:
        return True
    spoken = {*_words("answers.sentence", words), *words.table["contractions"]}
    is_command = not may_command and said[0] in _words("answers.commands", words)
    return not is_command and not spoken.intersection(said)


def _is_negated(text: str, words: Vocabulary) -> bool:
    negations = {word for phrase in words.phrases("negation") for word in words_of(phrase)[:1]}
    return bool(negations.intersection(words_of(clean(plain(text), words))))


def _words(name: str, words: Vocabulary) -> frozenset[str]:
    return frozenset(word for phrase in words.phrases(name) for word in words_of(phrase))
