"""Yes or no to a call that waits for the user's consent: by words, by a number, by a tap."""

from collections.abc import Sequence

from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said, listening, phrases, vocabulary
from agents.toolkit.questions.options import OptionRow, chosen
from prompts import phrase

CONFIRM = "confirm"
"""The kind of a question that yes or no answers."""
INTERRUPT = "interrupt"
"""The kind of a question that a tool asks by `interrupt()`: whatever the user says is the answer."""
YES, NO = "yes", "no"
AROUND = ("fillers", "thanks", "choosing", "pointing")
"""Lists of words that may stand behind a yes without a change of its meaning."""


def yes_or_no(lang: str) -> list[dict[str, object]]:
    """Return the two answers as the options of a question."""
    return [
        {"label": phrase(f"confirm_{answer}", lang), "value": None, "detail": "", "id": answer, "facts": {}}
        for answer in (YES, NO)
    ]


def agreed(text: str, options: Sequence[OptionRow], lang: str) -> bool | None:
    """Return whether a text says yes (True) or no (False) to a call; None if it plainly says neither."""
    if text.rstrip().endswith(("?", "？")):
        return None
    if is_said(YES, text) or is_said("agree", text):
        return True
    if is_said(NO, text) or is_said("cancel", text):
        return False
    place = chosen(text, options, lang)
    if place is not None:
        return bool(options[place]["id"] == YES)
    return True if _begins_with_yes(text, listening(text, lang)) else None


def _begins_with_yes(text: str, lang: str) -> bool:
    """Tell whether a text is a yes with nothing behind it that narrows it down: "yes please, do that"."""
    vocabulary_of = vocabulary(lang)
    small = {stem for idea in AROUND for entry in vocabulary_of.phrases(idea) for stem in vocabulary_of.stems(entry)}
    spaced = f" {' '.join(words(text))} "
    for entry in sorted((*phrases(YES, lang), *phrases("agree", lang)), key=len, reverse=True):
        if spaced.startswith(entry):
            rest = spaced.removeprefix(entry)
            said_again = any(f" {rest.strip()} " in phrases(idea, lang) for idea in (YES, "agree"))
            return said_again or set(vocabulary_of.stems(rest)) <= small
    return False
