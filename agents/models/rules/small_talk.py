"""Words about the conversation instead of the matter: a refusal, a question back, a complaint, "say that again".

They are known by rules of wording: of each group of a rule some word is said, and else nothing but small words.
"""

from functools import cache
from itertools import dropwhile

from agents.text.vocabulary import Vocabulary, vocabulary

KINDS = ("previous", "skip", "wait", "complaint", "upset", "repeat", "unclear", "forbid", "request")
"""In this order they are looked for: "I'd rather not repeat that" refuses."""
QUESTION = "$question"
"""In a group: the words of the question that was asked ("I have no skills")."""
LONGEST = 12
"""Words; a longer text is about something."""


def aside(text: str, words: Vocabulary, question: str = "") -> str | None:
    """Return what a message that names nothing does to the conversation; None if it may name something.

    `question` is what was asked: its words say nothing when they come back.
    """
    said = words.stems(text)
    if not said or text.lstrip().startswith("/"):
        # A command that no door knows is no answer either.
        return "unclear" if said or "?" in text else None
    if len(said) > LONGEST:
        return None
    if kind := next((kind for kind in KINDS if words.means(text, f"asides.{kind}.phrases")), None):
        return kind
    asked = frozenset(words.stems(question))
    if kind := next((kind for kind in KINDS if _ruled(kind, frozenset(said), asked, words.lang)), None):
        return kind
    return "unclear" if words.asks(text) and small_words(words.lang) | asked >= set(said) else None


def addressed(text: str, words: Vocabulary, *kinds: str) -> str | None:
    """Return what a message is that begins by talking to the assistant ("you …", "do not …"); None if it does not."""
    said = list(dropwhile(words.fillers.__contains__, words.stems(text)))
    return next((kind for kind in kinds or KINDS if _begins(kind, said, words)), None)


def points_only(text: str, words: Vocabulary, question: str = "") -> bool:
    """Whether a text only points at something ("the second one", "both", "I like it"), so that it tells nothing new."""
    said, asked = set(words.stems(text)), set(words.stems(question)) - words.stop
    if words.means(text, "vague", "references.all"):
        return True
    # One small word may be a name all the same: the language Go.
    alone = asked | set(words.numbers) | _listed("asides.around", words.lang)
    return bool(said) and said <= (small_words(words.lang) | alone if len(said) > 1 else alone)


def _ruled(kind: str, said: frozenset[str], asked: frozenset[str], lang: str) -> bool:
    small = small_words(lang) | asked
    for rule in _rules(kind, lang):
        groups = [group | asked if QUESTION in group else group for group in rule]
        if all(said & group for group in groups) and said <= small.union(*groups):
            return True
    return False


def _begins(kind: str, said: list[str], words: Vocabulary) -> bool:
    def any_of(name: str) -> bool:
        starts = (words.stems(entry) for entry in words.phrases(f"asides.{kind}.{name}"))
        return any(said[: len(start)] == start for start in starts)

    return any_of("begins") and not any_of("unless")


@cache
def _rules(kind: str, lang: str) -> tuple[tuple[frozenset[str], ...], ...]:
    words = vocabulary(lang)
    return tuple(
        tuple(_group(group, words) for group in rule.split(" + ")) for rule in words.phrases(f"asides.{kind}.rules")
    )


def _group(group: str, words: Vocabulary) -> frozenset[str]:
    named = [word for word in group.split() if word != QUESTION]
    marked = {QUESTION} if QUESTION in group else set()
    return frozenset(stem for word in named for stem in words.stems(word)) | marked


@cache
def small_words(lang: str) -> frozenset[str]:
    """Return the stems of the words that name nothing."""
    lists = (_listed(name, lang) for name in ("asides.around", "question", "pointing"))
    return vocabulary(lang).stop.union(*lists)


@cache
def _listed(name: str, lang: str) -> frozenset[str]:
    words = vocabulary(lang)
    return frozenset(stem for entry in words.phrases(name) for stem in words.stems(entry))
