"""The parts of the dialogs.

A dialog with tools only acts, shows the outcome, and gives back what is not its own. One with a form also asks field by
field, takes what is told unasked, and finishes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.state.message_notes import UNDO, notes_of
from app.standin.arguments import Filler, NeedsCall, Plan, Unclear, cancelled, follow, understand, wants_help
from app.standin.phrasebook import FILL_FORM, Match
from app.standin.references import choosers, list_tools, plain_number
from app.standin.replies import examples, in_words, joined, not_understood, small_talk
from app.standin.situation import HAND_BACK, HELP, PROTOCOL, RESUMES, CallResult, Move, PlannedCall, Situation
from app.standin.values import WHEN, is_answer, items, names_nothing
from app.standin.vocabulary import asking, sentence
from prompts import form_texts


def speak_with_tools(now: Situation) -> Move:
    """Return the dialog's next move."""
    if meant := now.instead:
        if any(result.failed for result in now.results):
            return hand_back("", sentence("done", now.lang))
        now = replace(now, heard=meant)
    if not now.results and (move := leave(now) or _chat(now)):
        return move
    try:
        plan = understand(now)
        if plan.empty and now.begun and now.said != now.heard:
            now = replace(now, heard=now.said)
            plan = understand(now)
    except NeedsCall as needed:
        call = needed.call
        if call and not any(result.call == call for result in now.results):
            return Move("", (call,))
        notes = {"asks": needed.asks} if needed.asks and not any(result.failed for result in now.results) else {}
        return Move(in_words(now.results, (), now.lang), notes=notes) if now.results else not_understood(now)
    done = [result.call for result in now.results]
    if remaining := [call for call in plan.calls if call not in done]:
        return Move("", _first_of(now, remaining))
    move = _answer(now, plan)
    is_aside = all(call.name == HELP for call in plan.calls) and not (plan.foreign or plan.asks or move.calls)
    return _asked_again(now, move) if is_aside and (now.left or plan.calls) else move


def _asked_again(now: Situation, move: Move) -> Move:
    """Answer an aside, and put the question again that a tool or the last reply has left open."""
    if now.left:
        # What the user wanted before goes on with the answer.
        return Move(move.text, (now.left,), {**move.notes, RESUMES: True})
    if asks := now.note("asks"):
        question = asking(asks["slot"], now.lang, asks["tool"])
        return Move(joined(move.text, question, by="\n"), notes={"asks": asks})
    return move


def leave(now: Situation) -> Move | None:
    """Hand back when the user has finished or leaves the topic, unless the user has just taken that back."""
    if now.facts.get("undone"):
        return None
    if _is_done(now):
        return hand_back("", sentence("done", now.lang))
    leaves = not cancelled(now) and now.words.made_of(now.heard, "switch.phrases")
    return hand_back(now.heard) if leaves else None


def hand_back(wish: str, text: str = "") -> Move:
    """Give the conversation back to the supervisor, with the user's next wish if there is one."""
    return Move(text, (PlannedCall(HAND_BACK, {"wish": wish} if wish else {}),))


def _is_done(now: Situation) -> bool:
    return "done" in now.words.made_of(now.heard, "done", "thanks", "no")


def _chat(now: Situation) -> Move | None:
    if not now.heard or (now.facts.get("undone") and _is_done(now)):
        return Move(examples(now) or sentence("greeted", now.lang))
    if text := cancelled(now):
        return Move(text)
    if (now.left or now.note("asks")) and now.words.made_of(now.heard, "yes"):
        return _asked_again(now, Move(sentence("not_understood", now.lang)))
    move = Move(small_talk(now))
    is_leaving = now.words.made_of(now.heard, "goodbye", "thanks")
    return (move if is_leaving else _asked_again(now, move)) if move.text else None


def _first_of(now: Situation, calls: list[PlannedCall]) -> tuple[PlannedCall, ...]:
    """Return the calls of the next round. Deletions come after changes, and lists come last."""

    def rank(call: PlannedCall) -> int:
        kinds = {parameter.kind for parameter in now.tools[call.name].values()}
        return 2 if call.name in list_tools(now) else int("numbers" in kinds)

    first = min(map(rank, calls))
    return tuple(call for call in calls if rank(call) == first)


def _answer(now: Situation, plan: Plan) -> Move:
    lookups = [*list_tools(now), *choosers(now)]
    acted = any(result.call.name not in lookups for result in now.results)
    asked_to_read = any(call.name in lookups for call in plan.calls)
    is_told = acted or asked_to_read
    text = joined(in_words(now.results, lookups, now.lang) if is_told else "", *plan.remarks, by="\n")
    if plan.foreign:
        return hand_back(". ".join(match.text for match in plan.foreign), text)
    if asks := plan.asks or _refused_time(now):
        move = Move(text, notes={"asks": asks})
        return _lost(now, move) if plan.unclear else move
    if not text and not (is_told and any(result.seen for result in now.results)):
        return _at_a_loss(now, plan)
    return hand_back("", text) if now.facts.get("wishes") else Move(text)


def _lost(now: Situation, move: Move) -> Move:
    """Say what was not understood. The second time in a row give the message to somebody else instead.

    What this dialog's own examples say would only come back.
    """
    if now.note("lost") and not (now.facts.get("undone") or now.wishes()):
        return hand_back(now.heard)
    return replace(move, notes={**move.notes, "lost": True})


def _refused_time(now: Situation) -> dict[str, object] | None:
    for result in now.results:
        if result.failed and not result.broken and WHEN in result.call.args:
            args = {name: value for name, value in result.call.args.items() if name != WHEN}
            return {"tool": result.call.name, "slot": WHEN, "args": args}
    return None


def _at_a_loss(now: Situation, plan: Plan) -> Move:
    """At the beginning say what can be said here; later repeat the open question, or say that it was not understood."""
    if now.own and not (set(now.tools) - PROTOCOL):
        return Move(sentence("talk_only", now.lang, title=now.own.title))
    if plan.begun or now.begun:
        return Move(joined(sentence("greeted", now.lang), examples(now)))
    if asks := now.note("asks"):
        question = asking(asks["slot"], now.lang, asks["tool"])
        return _lost(now, Move(joined(sentence("not_understood", now.lang), question), notes={"asks": asks}))
    return _lost(now, not_understood(now))


def speak_with_form(now: Situation) -> Move:
    """Return the dialog's next move."""
    lookups = {*list_tools(now), *choosers(now)}
    if any(result.call.name not in lookups for result in now.results):
        return _after(now)
    asked = None if now.begun or not now.heard else _asked(now)
    if now.heard and not now.begun and not now.results and (move := _chat_beside_form(now, asked)):
        return move
    done = [result.call for result in now.results]
    try:
        plan = _understood(now, asked) if now.heard else Plan()
    except NeedsCall as needed:
        if needed.call and needed.call not in done:
            return Move("", (needed.call,))
        plan = Plan()
    if now.results and all(call in done for call in plan.calls):
        return _after(now)
    return _act(plan) or _speak_only(now, plan, asked)


def _understood(now: Situation, asked: str | None) -> Plan:
    plan = Plan()
    lists = {name for name in now.facts.get("fields", ()) if _kind(now, name) == "texts"}
    matches = now.wishes(frozenset({asked, *lists} if asked else {}))
    told_fields = [match for match in matches if not match.pattern.owner and match.pattern.tool == FILL_FORM]
    others = tuple(match for match in matches if match not in told_fields)
    if told_fields or not asked or any(match.pattern.strong for match in others):
        for match in told_fields:
            _tell(now, plan, match, asked)
        follow(now, plan, others)
        if plan.remarks:
            plan.values = {}
    elif not matches:
        _take_answer(now, plan, asked)
    return plan


def _take_answer(now: Situation, plan: Plan, asked: str) -> None:
    """Take the words as the answer to what was asked: by a tool that lacks a value ("as JSON"), or for a field."""
    asks = now.note("asks")
    if asks and asks["tool"] in now.tools and asks["tool"] != FILL_FORM:
        Filler(now, asks["tool"]).add(plan, {asks["slot"]: now.heard}, asks["args"])
    elif _kind(now, asked) not in ("text", "texts") or is_answer(now.heard, now.words):
        value = _read(now, asked, now.heard)
        plan.values |= {} if value is None else {asked: value}


def _tell(now: Situation, plan: Plan, match: Match, asked: str | None) -> None:
    """Add what a sentence tells. A field that has a value changes only if the user asks for the change."""
    replaces = not match.pattern.of_form and now.words.listed("edits.replaced") & match.pattern.literals
    for name, raw in match.slots.items():
        value, held = _read(now, name, raw), (now.facts.get("form") or {}).get(name)
        if isinstance(value, list) and not replaces:
            before = plan.values.get(name, held) or []
            names = {item.casefold() for item in before}
            plan.values[name] = [*before, *(item for item in value if item.casefold() not in names)]
        elif held and match.pattern.of_form and name != asked:
            plan.remarks.append(sentence("complaint", now.lang))
        elif value is not None:
            plan.values[name] = value


def _kind(now: Situation, name: str) -> str:
    return now.tools[FILL_FORM][name].kind


def _read(now: Situation, name: str, raw: str) -> object:
    """Return the value of a field in the user's words; None if they tell none."""
    kind = _kind(now, name)
    if kind == "texts" and any(names_nothing(item, now.words) for item in items(raw, now.words)):
        return None
    if kind == "flag" and (answer := now.words.made_of(raw, "yes", "no")):
        return "yes" in answer
    if kind == "number":
        return plain_number(raw, now.words)
    try:
        return Filler(now, FILL_FORM).value(now.tools[FILL_FORM][name], raw)
    except Unclear:
        return None


def _chat_beside_form(now: Situation, asked: str | None) -> Move | None:
    """Answer a message that is not about the form: small talk, "skip", "that's all", "something else"."""
    words = now.words
    if asked and _kind(now, asked) == "flag" and words.made_of(now.heard, "yes", "no"):
        return None
    if asked and words.made_of(now.heard, "skip"):
        return _go_on(now, "", asked, skip=True)
    if move := leave(now):
        return move
    if text := cancelled(now):
        return _go_on(now, "" if asked else text, asked, skip=bool(asked), said_enough=True)
    if asked and (words.made_of(now.heard, "yes", "go_on.phrases", "undo.phrases", "steps") or _calls_itself(now)):
        return _go_on(now, "", asked)
    if not (text := small_talk(now)):
        return None
    # A user who says goodbye is asked nothing more.
    is_leaving = "goodbye" in words.made_of(now.heard, "goodbye", "thanks")
    return Move(text) if is_leaving else _go_on(now, text, asked, said_enough=True)


def _calls_itself(now: Situation) -> bool:
    return now.own is not None and now.words.leads_to(now.heard, (now.own.dialog, now.own.title))


def _act(plan: Plan) -> Move | None:
    """Fill the form first; tools that read it, and wishes for other dialogs, come in the next round."""
    wish = ". ".join(match.text for match in plan.foreign)
    then = {"calls": [{"name": call.name, "args": call.args} for call in plan.calls], "wish": wish}
    if calls := (PlannedCall(FILL_FORM, plan.values),) if plan.values else tuple(plan.calls):
        return Move("", calls, {"then": then})
    return hand_back(wish) if wish else None


def _speak_only(now: Situation, plan: Plan, asked: str | None) -> Move:
    """Ask for what is missing, begin, or admit that nothing was understood: no tool of the dialog helps here."""
    remarks = joined(*plan.remarks)
    if remarks and plan.asks:
        return Move(remarks, notes={"asks": plan.asks})
    if now.begun or not now.heard or remarks or plan.begun:
        return _go_on(now, remarks, asked, said_enough=bool(remarks))
    if now.facts.get("undone"):
        return _go_on(now, "", asked)
    if wants_help(now):
        return Move("", (PlannedCall(HELP, {"query": now.heard}),))
    if not asked:
        return _lost(now, _go_on(now, not_understood(now).text, asked, said_enough=True))
    about = sentence("about_question", now.lang, label=_fields(now)[asked]["label"])
    return _lost(now, _go_on(now, joined(sentence("not_understood", now.lang), about), asked))


def _after(now: Situation) -> Move:
    notes = (message.additional_kwargs.get("then") for message in reversed(now.messages[-len(now.results) - 2 :]))
    then: dict[str, Any] = next((note for note in notes if note), {})
    done = [result.call for result in now.results]
    waiting = [PlannedCall(entry["name"], entry["args"]) for entry in then.get("calls", ())]
    if remaining := tuple(call for call in waiting if call not in done):
        return Move("", remaining, {"then": then})
    lookups = [*list_tools(now), *choosers(now)]
    lines = [_noted(now, result.call.args) for result in now.results if _is_filled(result)]
    others = [result for result in now.results if not _is_filled(result)]
    text = joined(*lines, in_words(others, lookups, now.lang) if others else "", by="\n")
    if then.get("wish"):
        return hand_back(then["wish"], text)
    if others and now.begun and not others[-1].declined:
        # Who came for this one thing is asked nothing more.
        return Move(text)
    return _go_on(now, text, None if now.begun else _asked(now), said_enough=bool(others))


def _go_on(now: Situation, text: str, asked: str | None, *, skip: bool = False, said_enough: bool = False) -> Move:
    """Ask for the next field behind the one asked, or finish when there is none."""
    if now.left and not now.results:
        return Move(text, (now.left,), {RESUMES: True})
    filled = {name for result in now.results if _is_filled(result) for name in result.call.args}
    missing = [name for name in now.facts.get("missing", ()) if name not in filled]
    order = list(now.facts.get("fields", ()))
    place = order.index(asked) + skip if asked in order else 0
    upcoming = [name for name in missing if name in order[place:]]
    if upcoming:
        asks = {"tool": FILL_FORM, "slot": upcoming[0], "args": {}}
        return Move(joined(text, _fields(now)[upcoming[0]]["question"], by="\n"), notes={"asks": asks})
    if not now.results and not asked:
        return Move(joined(text, "" if said_enough else sentence("anything_wrong", now.lang), by="\n"))
    closing = sentence("partial" if missing else "complete", now.lang) if asked else ""
    return hand_back("", joined(text, closing, by="\n"))


def _asked(now: Situation) -> str | None:
    """Return the field that the last reply asked for, whoever spoke; after an undo the first missing one."""
    if now.before and notes_of(now.before[-1]).get("served") == UNDO:
        return next(iter(now.facts.get("missing", ())), None)
    reply = now.last_reply.text if now.last_reply else ""
    return next((name for name, entry in _fields(now).items() if reply.endswith(entry["question"])), None)


def _is_filled(result: CallResult) -> bool:
    return result.call.name == FILL_FORM and not result.failed


def _noted(now: Situation, args: Mapping[str, object]) -> str:
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in args.items() if value}
    fields = _fields(now)
    values = [sentence("value", now.lang, label=fields[name]["label"], value=value) for name, value in shown.items()]
    return sentence("noted", now.lang, values="; ".join(values))


def _fields(now: Situation) -> Mapping[str, Any]:
    """Return the label and the question of each field; a form without words of its own uses the fields' names."""
    worded = form_texts(now.own.form, now.lang) if now.own and now.own.form else {}
    return {
        name: {"label": name.replace("_", " "), "question": asking(name, now.lang), **worded.get(name, {})}
        for name in now.facts.get("fields", ())
    }
