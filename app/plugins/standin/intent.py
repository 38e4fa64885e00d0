"""From a message to a plan: its wishes, an answer to the open question, or a correction of the last call."""

from itertools import pairwise
from typing import Any

from agents.language.schedule.grammar import is_shift, read
from agents.language.text.stems import plain
from agents.language.text.vocabulary import behind_no, corrected, mentions
from app.plugins.standin import lists, values
from app.plugins.standin.patterns import Match
from app.plugins.standin.plan import CHANGE, LOOKUPS, SKIP, STOP, Filler, NeedsCall, Plan, Unclear
from app.plugins.standin.replies import in_words
from app.plugins.standin.situation import FILL_FORM, HELP, SEARCH, PlannedCall, Situation
from app.plugins.standin.values import IDENTIFIERS, OPEN, REFERRING, WHEN, Parameter


def understand(now: Situation) -> Plan:
    """Return the plan for the user's words, empty unless all were understood. Raises NeedsCall: a list is unknown."""
    plan = Plan()
    if now.wishes and not is_value(now):
        _follow_all(now, plan)
        _fill_once(now, plan)
        return plan
    heard = plain(now.heard)
    if (more := now.words.past(heard, "adding")) != heard:
        _correct(now, plan, more, is_more=True)
    if plan.calls:
        return plan
    if now.asked and _may_be_answer(now, now.asked):
        Filler(now, now.asked.tool).add(plan, {now.asked.name: behind_no(now.heard)}, now.asks["args"])
        # An answer about the user's own wish is certain; a form's question was not the user's idea.
        plan.unsure = bool(plan.calls) and now.asked.kind in OPEN and now.asked.tool == FILL_FORM
    elif HELP in now.tools and now.words.asks(now.heard):
        may_search = SEARCH in now.tools and not now.is_disputed and not any(it.failed for it in now.results)
        search = PlannedCall(SEARCH, {"queries": [now.heard[:200]]})
        plan.calls.append(search if may_search else PlannedCall(HELP, {"query": now.heard}))
    elif (correction := corrected(heard, now.words.lang)) != heard:
        _correct(now, plan, correction)
    return plan


def _follow_all(now: Situation, plan: Plan) -> None:
    for match in now.wishes:
        try:
            _follow(now, plan, match)
        except NeedsCall as needed:
            failed = [it for it in now.results if it.failed and it.call.name.startswith(LOOKUPS)]
            is_vain = not needed.call and (failed or not needed.asks) and HELP not in now.in_vain
            if is_vain and HELP in now.tools and now.words.asks(match.text):
                plan.calls.append(PlannedCall(HELP, {"query": match.text}))
                continue
            if len(now.wishes) == 1 or not failed or needed.call not in (None, *(it.call for it in failed)):
                raise
            # The message's other wishes go on.
            plan.remarks.append(in_words(failed, (), now.lang))


def _correct(now: Situation, plan: Plan, words: str, *, is_more: bool = False) -> None:
    """Correct an open value, or the time, of the call in question or the last one; or add to its list (`is_more`)."""
    acted = now.left.calls[:1] if now.left else [it.call for it in now.last_results if not it.failed]
    acted = [it for it in acted if it.name in now.tools and not it.name.startswith((*LOOKUPS, SKIP))]
    if not acted or not values.is_name(words, now.words):
        return
    tool, args, kinds = acted[-1].name, acted[-1].args, now.tools[acted[-1].name]
    is_listed, is_time = lists.lister(now, tool) is not None, values.time_in(words, now.words) is not None
    # "No, at 10" cannot be the title of a film, and "no, 10" may be one.
    is_name = not (is_more or (is_time and values.number(words, now.words) is None))
    is_time = is_time and WHEN in args
    fitting = ("time",) if is_time else (*OPEN, *IDENTIFIERS) if is_name else OPEN
    named = [name for name in args if name in kinds and kinds[name].kind in fitting]
    # "Add milk to the garden list": the things are corrected, not their list.
    listed = [name for name in named if kinds[name].kind == "texts"]
    named = listed or ([] if is_more and is_listed else named)
    given = {name: value for name, value in args.items() if name not in named}
    if is_more and listed and (now.left or tool == FILL_FORM):
        words = ", ".join([*args[listed[0]], words])
    elif named and not (is_more or is_time):
        words = values.put_in(args[named[0]], words, now.words)
    if not is_more and named and is_listed and not now.left:
        tool, number = f"{CHANGE}{values.thing(tool)}", args.get("number") or lists.written(now, tool, now.last_results)
        is_there = number and tool in now.tools
        named, given = (named if is_time else ["text"], {"number": number}) if is_there else ([], {})
    if len(named) == 1:
        Filler(now, tool).add(plan, {named[0]: words}, given)
        # "No, the kettle": the lamp is watched no more.
        plan.calls += [stop] if plan.calls and not is_more and (stop := stopping(now)) else []
        plan.unsure = bool(plan.calls)


def _may_be_answer(now: Situation, parameter: Parameter) -> bool:
    words, message = now.words, now.words.key(now.heard)
    # "My work experience" and "correct the experience to …" give no value.
    named = {*message} & {stem for entry in now.fields.values() for stem in words.stems(entry["label"])}
    is_of_field = bool(named) and (named >= {*message} - words.stop or message[0] in words.listed("bare", "ending"))
    # What the user took back from another dialog is no answer here.
    is_taken = _takes_any(parameter) and not now.facts.get("undone") and values.is_name(behind_no(now.heard), words)
    # "Need batteries" may be for another dialog.
    is_beside = values.vague(now.heard, words) or any(it.pattern.is_duty for it in now.matches)
    is_taken = is_taken and not (parameter.tool == FILL_FORM and is_beside)
    return is_value(now) or (is_taken and not is_of_field)


def _takes_any(parameter: Parameter) -> bool:
    return parameter.kind in (*OPEN, *REFERRING, *IDENTIFIERS)


def is_value(now: Situation) -> bool:
    """Tell whether the words are plainly a value of the kind in the open question, whatever else they may be."""
    if now.asked is None or _takes_any(now.asked):
        return False
    try:
        return Filler(now, now.asked.tool).value(now.asked, behind_no(now.heard)) is not None
    except Unclear:
        return False


def _follow(now: Situation, plan: Plan, match: Match) -> None:
    pattern = match.pattern
    if pattern.owner:
        plan.foreign.append(match.text)
    elif pattern.tool == HELP:
        plan.calls.append(PlannedCall(HELP, {"query": match.text}))
    elif pattern.tool not in now.tools:
        # "Return {brief}" asks for more than the dialog.
        plan.begun = not match.slots
    else:
        Filler(now, lists.tool_for(now, match)).add(plan, match.slots, _known(now, match))
        plan.unsure = plan.unsure or not is_sure(now, match)


def _known(now: Situation, match: Match) -> dict[str, object]:
    """Return the arguments that the last call has given: of what is to stop, or the place of what goes "there"."""
    tool, example = match.pattern.tool, " ".join(line for _, line in match.pattern.parts)
    if stop := stopping(now, tool):
        return stop.args
    needed = {name for name, it in now.tools[tool].items() if it.required}
    if not needed or not needed <= match.slots.keys() or not mentions("pointing", example, now.words.lang):
        return {}
    last = next((it.call.args for it in reversed(now.last_results) if it.call.name == tool and not it.failed), {})
    return {name: value for name, value in last.items() if name not in needed}


def stopping(now: Situation, *tools: str) -> PlannedCall | None:
    """Return the call that stops what was just begun: by convention `stop_thing` needs the arguments of its begin."""
    for tool in (it for it in tools or now.tools if it.startswith(STOP)):
        needed = {name for name, it in now.tools[tool].items() if it.required}
        begun = [it for it in now.last_results if now.writes(it.call.name) and not (it.failed or it.declined)]
        args_of_begun = (it.call.args for it in reversed(begun))
        if args := next((it for it in args_of_begun if needed and needed <= it.keys()), None):
            return PlannedCall(tool, {name: args[name] for name in needed})
    return None


def _fill_once(now: Situation, plan: Plan) -> None:
    """Join all form calls of a message into one; a sentence of the form adds to a list in place of replacing it."""
    filled = [call.args for call in plan.calls if call.name == FILL_FORM]
    is_told = any(it.pattern.of_form for it in now.wishes)
    args: dict[str, Any] = {}
    for name, value in ((name, value) for it in filled for name, value in it.items()):
        before: Any = args.get(name) or ((now.facts.get("form") or {}).get(name) if is_told else None)
        args[name] = list(dict.fromkeys([*(before or ()), *value])) if isinstance(value, list) else value
    if filled:
        plan.calls = [PlannedCall(FILL_FORM, args), *(call for call in plan.calls if call.name != FILL_FORM)]


def is_sure(now: Situation, match: Match) -> bool:
    """Tell whether a wish needs no confirmation: it only reads, or matches an example, with plain open values.

    An answer in the words of the field in question is as plain.
    """
    pattern, tool = match.pattern, match.pattern.tool
    if not now.writes(tool):
        return True
    kinds, words = now.tools[tool], now.words
    typed = {it for it in kinds if kinds[it].kind not in OPEN or words.choices(tool, it)}
    opened = match.slots.keys() - typed - {*words.phrases(f"named.{tool}")}
    # Sentences of the form, one of which answers its question.
    is_answer = any((now.asks or {}).get("slot") in it.slots for it in now.wishes if it.pattern.of_form)
    # "I know {skills}" says what is told, and "I am {experience}" does not.
    is_told = is_answer and pattern.of_form and not pattern.fixed <= words.listed("sentence") | words.fillers
    is_plain = is_told or all(pattern.is_bounded(it, kinds) for it in opened)
    is_plain = is_plain and all(values.is_name(match.slots[it], words) for it in opened)
    # "Delete the second one" needs a list that was just shown; "skip tomorrow" names no entry. "Everything" may be
    # more than the user knows; a tool itself asks only before it deletes several things.
    meant = lists.tool_for(now, match)
    referring = [text for name, text in match.slots.items() if name in REFERRING]
    named = [text for text in referring if values.number(text, words) is None]
    is_unseen = pattern.is_weak and named != referring and now.recent != values.thing(meant)
    is_last = any(values.is_all(it, words) for it in named) and len(lists.entries_of(now, meant) or ()) == 1
    is_timed = WHEN in match.slots and any(values.may_be_of_time(match.slots[it], words) for it in opened)
    # A timer is called by its length.
    times = [read(plain(text), words.lang) for text in named]
    is_timed = is_timed or any(it and not it.rest and "length" not in it.pieces for it in times)
    # "An hour later. No, two": hours, or two o'clock?
    before = [str(it.call.args.get(WHEN)) for it in now.last_results if not it.failed]
    is_number = values.number(match.slots.get(WHEN, ""), words) is not None
    is_timed = is_timed or (is_number and any(is_shift(it, words.lang) for it in before[-1:]))
    # "Tomorrow … at 7": the hour may be that of the thing to do.
    whole_time = read(plain(match.text), words.lang) if WHEN in match.slots and opened else None
    between = "".join(match.text[it[1] : after[0]] for it, after in pairwise(whole_time.places)) if whole_time else ""
    is_apart = bool({*words.stems(plain(between))} - words.fillers)
    # "It" is plain right after it was set.
    is_old = lists.pointed(now, meant, match.slots) != lists.pointed(now, meant, match.slots, recently=True)
    return match.is_exact and is_plain and not (is_unseen or is_last or is_timed or is_apart or is_old)
