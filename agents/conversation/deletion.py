"""Deletions at the user's word: "delete my profile", "forget everything you know about me"; the user is always asked.

The name of a deletion is "me" for all that is known of the user, a setting ("zone"), a dialog with a remembered form
("profile"), or a field of such a form ("profile.name").
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from agents.conversation.changes import Change
from agents.conversation.switch import answer
from agents.events import Forgetting
from agents.language.text.vocabulary import is_said, listening, vocabulary
from agents.memory.deletions import NOT_ALL
from agents.state import State, form_of, holder_of, talk_of
from agents.state.message_notes import FORGET
from agents.toolkit.questions.form import EMPTY
from agents.toolkit.speaker import Speaker, Speakers
from prompts import field_label, phrase, table, title_of

EVERYTHING = "me"
SETTINGS = ("zone", "language")


def handle_deletion(change: Change, speakers: Speakers) -> bool:
    """Take a message that asks for a deletion, or answers the question about one; tell whether it is such a message."""
    state = change.state
    text, lang = state["heard"]["text"] or "", state["lang"]
    if what := state.get("forgetting"):
        if is_said("yes", text) or is_said("agree", text) or vocabulary(lang).means(text, "deeds.delete"):
            change.tell(Forgetting(what=what))
            # An undo right after it is about it.
            change.put(listener=None, forgets=what, wrote=state["turn"], last_done=None)
            return True
        if is_said("no", text):
            answer(change, phrase("forget_not", lang), holder_of(state), FORGET)
            return True
    if what := _asked_for(text, listening(text, lang), tuple(forgettable(speakers))):
        dialog, _, field = what.partition(".")
        if field and "form" in talk_of(state, dialog) and form_of(state, dialog).get(field) in EMPTY:
            answer(change, worded("forget_no", what, lang), holder_of(state), FORGET)
            return True
        answer(change, f"{worded('forget', what, lang)} {phrase('forget_sure', lang)}", holder_of(state), FORGET)
        change.put(forgetting=what)
    return what is not None


def dialog_of(state: State, speakers: Speakers) -> Speaker | None:
    """Return the dialog of whose form a message asks to delete a part or all."""
    text = state["heard"]["text"] or ""
    what = _asked_for(text, listening(text, state["lang"]), tuple(forgettable(speakers)))
    return speakers.dialogs.get((what or "").partition(".")[0])


def forgettable(speakers: Speakers) -> Iterator[str]:
    """Yield the names of all deletions that a user may ask for."""
    for dialog in speakers.remembered():
        yield dialog.name
        yield from (f"{dialog.name}.{field}" for field in dialog.form.model_fields) if dialog.form else ()
    yield EVERYTHING
    yield from SETTINGS


def worded(key: str, what: str, lang: str) -> str:
    """Return the sentence that asks for a yes to a deletion ("forget"), or reports it ("forgotten")."""
    dialog, _, field = what.partition(".")
    if what in (EVERYTHING, NOT_ALL):
        return phrase(f"{key}_{what}", lang)
    if what in SETTINGS:
        return phrase(f"{key}_field", lang, field=phrase(f"setting_{what}", lang))
    if not field:
        return phrase(f"{key}_form", lang, title=title_of(dialog, lang))
    label = _words_of(dialog, lang).get("label", {}).get(field) or field_label(dialog, field, lang)
    return phrase(f"{key}_field", lang, field=label)


# The route asks this of a message twice.
@lru_cache(maxsize=100)
def _asked_for(text: str, lang: str, kinds: tuple[str, ...]) -> str | None:
    """Return the deletion that a text asks for, politely or not; None if it says anything else."""
    words = vocabulary(lang)
    key = words.key(text)
    begun = next((start for start in _openings(lang) if key[: len(start)] == start), ())
    spellings = {key, key[len(begun) :], tuple(words.stems(text))}
    return next((what for what in kinds if spellings & _wishes(what, lang)), None)


@cache
def _openings(lang: str) -> Sequence[tuple[str, ...]]:
    words = vocabulary(lang)
    return [words.key(entry) for entry in words.phrases("forget.openings")]


@cache
def _wishes(what: str, lang: str) -> frozenset[tuple[str, ...]]:
    """Return people's requests for a deletion: whole phrases, or any verb with any name of its object."""
    words, (dialog, _, field) = vocabulary(lang), what.partition(".")
    own = {} if what == EVERYTHING or what in SETTINGS else _words_of(dialog, lang)
    if what == EVERYTHING:
        phrases, names = words.phrases(f"forget.{what}"), []
    elif what in SETTINGS:
        phrases, names = [], words.phrases(f"forget.setting.{what}")
    elif field:
        phrases, names = [], own.get("field", {}).get(field) or [field_label(dialog, field, lang)]
    else:
        phrases, names = own.get("whole", []), [dialog.replace("_", " ")]
    verbs = [words.key(verb) for verb in words.phrases("forget.verbs")]
    ends = [(), *(words.key(end) for end in own.get("from", []))]
    wishes = {(*verb, *words.key(name), *end) for verb in verbs for name in names for end in ends}
    # "Forget me" without its filler is "forget", which only means "never mind".
    full_phrases = {form for phrase in phrases for form in (words.key(phrase), tuple(words.stems(phrase)))}
    return frozenset({*full_phrases, *wishes}) - {*verbs}


def _words_of(dialog: str, lang: str) -> Mapping[str, Any]:
    """Return people's words for the deletion of a form: phrases for all of it ("whole"), names of its fields."""
    words: Mapping[str, object] = table(f"{dialog}/phrases", lang).get("forget", {})
    return words
