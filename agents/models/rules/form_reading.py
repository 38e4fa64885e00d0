"""What a message means to a form: corrections, values told in sentences, a bare answer, commands."""

from dataclasses import dataclass, field, replace
from typing import Any

from agents.models.rules.calls import Filler, Plan
from agents.models.rules.form_edits import Changes, Form, corrected, extended, told
from agents.models.rules.lists import spelled
from agents.models.rules.matches import Match, replacing
from agents.models.rules.references import plain_number
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.small_talk import addressed, aside, points_only, small_words
from agents.models.rules.types import FILL_FORM, HELP, Call
from agents.models.rules.values import clean
from agents.models.rules.wishes import Wishes, wishes, without_greeting
from agents.text.stems import plain
from agents.text.stems import words as words_of
from agents.text.vocabulary import Vocabulary
from prompts import table


@dataclass
class Understood:
    """What shall become of a message: changes of the form, and tools to call or wishes to pass on."""

    changes: Changes = field(default_factory=Changes)
    plan: Plan = field(default_factory=Plan)
    aside: str | None = None
    """What the message does to the conversation, if it says nothing of the matter."""


def understand(now: Situation, asked: str | None) -> Understood:
    """Return what the user's words mean; `asked` is the field that the last reply asked for."""
    form, meant = Form(now), Understood()
    if not now.heard:
        return meant
    found = wishes(now.heard, now.words, now.book().find)
    if showing := _asks_for_own(now):
        meant.plan.calls.append(showing)
        return meant
    if all(match.pattern.of_form or _doubtful(match, asked) for match in found.matches):
        meant.aside = aside(now.heard, now.words, question(now, asked))
    if meant.aside:
        return meant
    meant.changes = corrected(form, now.heard)
    if meant.changes.values or meant.changes.remarks:
        return meant
    corrections = {match.text: values for match in found.matches if (values := _correction(form, match, asked))}
    several = len(found.matches) > 1
    others = [match for match in found.matches if match.text not in corrections]
    matches = [match for match in others if several or not _doubtful(match, asked) or _is_command(form, match, asked)]
    matches = [replace(match, text=spelled(now, match) or match.text) for match in matches]
    if pointing := [
        match for match in matches if _doubtful(match, asked) and _points(match, now.words) and not spelled(now, match)
    ]:
        shown = (raw for match in pointing for raw in match.slots.values())
        meant.changes.remarks = [sentence("not_there", now.lang, old=clean(raw, now.words)) for raw in shown]
        return meant
    fills = [match for match in matches if not match.owner and match.tool == FILL_FORM]
    meant.changes = told(form, fills)
    for values in corrections.values():
        meant.changes.values = {**values, **meant.changes.values}
    _call(now, meant.plan, [match for match in matches if match not in fills])
    if asked and asked not in meant.changes.values:
        _bare(form, meant, asked, Wishes(tuple(matches), found.lead))
    if not matches and meant.plan.empty and not (meant.changes.values or meant.changes.remarks):
        meant.changes = extended(form, now.heard, asked)
    return meant


def question(now: Situation, asked: str | None) -> str:
    """Return how a field is asked for in the language of what was heard; empty if none was."""
    entry = table(f"forms/{now.own.form}", now.words.lang).get(asked, {}) if now.own and asked else {}
    return f"{entry.get('question', '')} {entry.get('label', '')}"


def _doubtful(match: Match, asked: str | None) -> bool:
    """Whether what looks like a wish for others may as well be the answer to the question."""
    return bool(asked and match.owner) and not match.pattern.strong


def _asks_for_own(now: Situation) -> Call | None:
    """Return what shows the form, if the user asks what stands in it: "what are my skills?"."""
    shows = next((name for name, wanted in now.tools.items() if name.startswith("show") and not wanted), None)
    labels = table(f"forms/{now.own.form}", now.words.lang).values() if now.own else ()
    named = {stem for entry in labels for stem in now.words.stems(entry["label"])}
    of_user = now.words.asks(now.heard) and now.words.mention(plain(now.heard), "possessive.phrases")
    only = set(now.words.stems(now.heard)) <= named | small_words(now.words.lang)
    return Call(shows, {}) if shows and of_user and only and named & set(now.words.stems(now.heard)) else None


def _is_command(form: Form, match: Match, asked: str | None) -> bool:
    """Whether nobody answers so: by deleting what the form does not hold, or by adding to what is no list."""
    words = form.now.words
    names = ["edits.removed"] if asked and form.is_list(asked) else ["edits.removed", "edits.added"]
    cues = {stem for name in names for cue in words.phrases(name) for stem in words.stems(cue)}
    return cues.issuperset(match.pattern.literals)


def errand(now: Situation, text: str) -> str | None:
    """Return how to put something on the list that is said like a to-do; None if it is not, or there is no list."""
    # Whole words: "buying" may be a skill.
    said = words_of(text)
    starts = (words_of(entry) for entry in now.words.phrases("errands.begins"))
    wish = sentence("errand_wish", now.words.lang, text=text)
    begun = any(len(said) > len(start) and said[: len(start)] == start for start in starts)
    match = now.book().find(wish) if begun else None
    return sentence("errand", now.lang, text=text, wish=wish) if match and match.owner else None


def _points(match: Match, words: Vocabulary) -> bool:
    """Whether it is not said what shall be deleted, but which one: here nobody can tell of what list."""
    return any(points_only(raw, words) or plain_number(raw, words) is not None for raw in match.slots.values())


def _correction(form: Form, match: Match, asked: str | None) -> dict[str, Any]:
    """Return what "… and remove Ruby" corrects here, though elsewhere it would delete a to-do."""
    return corrected(form, match.text).values if _doubtful(match, asked) else {}


def to_rewrite(now: Situation) -> str | None:
    """Return the field to put anew where it is not said how: "change my experience", "nurse is wrong"."""
    form = Form(now)
    wrong = form.doubted(now.heard)
    several = isinstance(held := form.values.get(wrong or ""), list) and len(held) > 1
    if wrong and not several:
        return wrong
    said = set(now.words.key(now.heard))
    cues = {stem for cue in now.words.phrases("edits.replaced") for stem in now.words.stems(cue)}
    labels = table(f"forms/{now.own.form}", now.words.lang) if now.own else {}
    named = (name for name, entry in labels.items() if said - cues == set(now.words.key(entry["label"])))
    return next(named, None) if said & cues else None


def _call(now: Situation, plan: Plan, matches: list[Match]) -> None:
    """Plan the tools that are wanted, or the one whose missing parameter this is ("as JSON")."""
    filler = Filler(now, with_lists=False)
    asks = now.note("asks")
    if asks and asks["tool"] != FILL_FORM and asks["tool"] in now.tools and not matches:
        filler.add(plan, asks["tool"], {asks["slot"]: now.heard}, asks["args"])
    for match in matches:
        if match.owner:
            plan.foreign.append(match)
        elif match.tool == HELP:
            plan.calls.append(Call(HELP, {"query": match.text}))
        elif match.tool not in now.tools:
            plan.begun = True
        else:
            filler.add(plan, match.tool, match.slots)


def _bare(form: Form, meant: Understood, asked: str, found: Wishes) -> None:
    """Take words that fit no pattern as the answer to the question asked."""
    now = form.now
    text = found.lead if found.matches else without_greeting(now.heard, now.words)
    if not text or now.words.asks(text) or (not found.matches and now.words.asks(now.heard)):
        return
    asked_for = question(now, asked)
    if points_only(text, now.words, asked_for):
        meant.aside = None if found.matches else "unclear"
        return
    if kind := aside(text, now.words, asked_for) or addressed(text, now.words):
        meant.aside = None if found.matches else kind
        return
    if not found.matches and (remark := errand(now, text)):
        meant.changes.remarks.append(remark)
        return
    if not found.matches and now.words.means(text.split()[0], "negation"):
        text = (replacing(text, now.words.lang) or {"new": text})["new"]
    if not found.matches and (added := extended(form, now.heard, asked)).values:
        meant.changes = added
    elif value := form.read(asked, text):
        meant.changes.values[asked] = value
