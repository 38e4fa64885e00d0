"""A gate of a few rules that needs no training."""

from functools import cache

from agents.conversation.gate import Guess
from agents.conversation.gate.features import asks
from agents.conversation.scene import Scene
from agents.language.text.stems import stems, words
from agents.language.text.vocabulary import mentions, small_words
from prompts import card

LONGEST_ANSWER = 8
"""The most words of an answer; longer messages tend to bring news."""


def untrained_gate(scene: Scene) -> Guess:
    """Let a short answer to the dialog's question pass, unless a word in it points elsewhere."""
    if cue := mentions("switch", scene.text, scene.lang):
        return Guess(0.9, f"cue {cue!r}")
    if foreign := _foreign(scene):
        return Guess(0.5, f"words of another helper: {', '.join(sorted(foreign))}")
    if "?" in scene.text or "？" in scene.text:
        return Guess(0.5, "a question")
    if not scene.reply or not asks(scene.reply):
        return Guess(0.5, "nothing was asked")
    if len(words(scene.text)) > LONGEST_ANSWER:
        return Guess(0.5, "a long message")
    return Guess(0.0, "a short answer to a question")


def _foreign(scene: Scene) -> set[str]:
    """Return stems of the message that belong to another helper or tool and not to the dialog itself."""
    own = _vocabulary(scene.dialog, scene.description, scene.lang)
    others = {**scene.helpers, **scene.tools}
    foreign = frozenset().union(*(_vocabulary(name, text, scene.lang) for name, text in others.items()))
    return set(stems(scene.text, scene.lang)) & (foreign - own - small_words(scene.lang))


@cache
def _vocabulary(name: str, description: str, lang: str) -> frozenset[str]:
    translated, _ = card(name, lang)
    return frozenset(stems(f"{name.replace('_', ' ')} {translated or description}", lang))
