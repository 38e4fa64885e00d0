"""What a message means to a form: values told in sentences, an answer to its question, a correction of the last one."""

from dataclasses import dataclass, field
from typing import Any

from agents.models.rules.arguments import Filler, Plan
from agents.models.rules.form import Changes, Form
from agents.models.rules.matches import Match, first_match
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.types import FILL_FORM, HELP, Call
from agents.models.rules.values import is_answer
from agents.models.rules.wishes import wishes, without_greeting


@dataclass
class Understood:
    """What shall become of a message: changes of the form, and tools to call or wishes to pass on."""

    changes: Changes = field(default_factory=Changes)
    plan: Plan = field(default_factory=Plan)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was understood."""
        return self.plan.empty and not (self.changes.values or self.changes.remarks)


def understand(now: Situation, asked: str | None) -> Understood:
    """Return what the user's words mean; `asked` is the field that the last reply asked for."""
    form, meant = Form(now), Understood()
    if not now.heard:
        return meant
    if corrected := _corrected(form, now.heard):
        meant.changes = corrected
        return meant
    heard = wishes(now.heard, now.words, now.book().find)
    # Among other wishes even "add eggs" is one.
    is_sure = any(match.pattern.strong for match in heard.matches)
    matches = [match for match in heard.matches if is_sure or not _is_doubtful(match, asked)]
    fills = [match for match in matches if not match.owner and match.tool == FILL_FORM]
    meant.changes = form.told(fills)
    _plan(now, meant.plan, [match for match in matches if match not in fills])
    if matches:
        answer, unread = heard.lead, heard.unread
    else:
        is_open = not now.words.asks(now.heard) and not now.heard.lstrip().startswith("/")
        answer, unread = without_greeting(now.heard, now.words) if is_open else "", ()
    if answer and asked and asked not in meant.changes.values and (value := _answer(form, asked, answer)) is not None:
        meant.changes.values[asked] = value
    elif answer and matches:
        unread = (answer, *unread)
    meant.changes.remarks += [sentence("unread", now.lang, text=text) for text in unread]
    return meant


def _is_doubtful(match: Match, asked: str | None) -> bool:
    """Tell whether what looks like a wish for others may as well be the answer to the question."""
    return bool(asked and match.owner) and not match.pattern.strong


def _plan(now: Situation, plan: Plan, matches: list[Match]) -> None:
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


def _answer(form: Form, asked: str, text: str) -> Any:
    """Return the value of the field that was asked for; None if the words tell none for certain."""
    if form.takes_words(asked) and not is_answer(text, form.now.words):
        return None
    return form.read(asked, text)


def _corrected(form: Form, text: str) -> Changes | None:
    """Return what "no, X" and "X instead of Y" change in the field filled last; None if the text corrects nothing."""
    now, name = form.now, form.last_filled()
    swap = first_match("edits.replace", text, now.words.lang)
    fix = swap or first_match("edits.again", text, now.words.lang)
    if fix is None or name is None or not form.takes_words(name) or (swap and not form.holds(name, swap["old"])):
        return None
    match = now.book().find(fix["new"])
    if match and match.pattern.of_form:
        name, fix["new"] = next(iter(match.slots.items()))
    elif (match and match.pattern.strong) or not is_answer(fix["new"], now.words):
        return None
    return form.replaced(name, swap["old"] if swap else None, fix["new"])
