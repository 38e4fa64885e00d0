"""From wishes to tool calls: find the value of each argument, look up what a name means, ask for what is missing.

An argument that no words of the user hold may come from another tool. By convention `choose_thing` lets the user
choose what an identifier `thing_id` or `thing_ids` stands for, and `ask_thing` lets them fill in what begins with
`thing`. What comes back has the argument under its own name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.plugins.standin import lists, values
from app.plugins.standin.patterns import FILL_FORM, Match, is_request
from app.plugins.standin.situation import HELP, SEARCH, PlannedCall, Situation
from app.plugins.standin.values import IDENTIFIERS, NOTE, OPEN, REFERRING, Parameter
from app.plugins.standin.vocabulary import asking, sentence

CHOOSE, ASK = "choose_", "ask_"
_SPELLED = re.compile(
    r"[#№]?[^\s,;.!?\"«»“”]*\d[^\s,;!?\"«»“”]{2,}[^\s,;.!?\"«»“”]|[^\s,;.!?\"«»“”]{2,}\d[^\s,;.!?\"«»“”]*"
)
"""An identifier as users write it: a word of several letters and digits."""


class NeedsCall(Exception):
    """An argument needs another tool first: `call`. It is None if no tool helps; `asks` is then what stays open."""

    def __init__(self, call: PlannedCall | None, asks: Mapping[str, object] | None = None) -> None:
        super().__init__(call)
        self.call, self.asks = call, asks


class Unclear(Exception):
    """A value cannot be told from the words; the message is what to say to the user."""


class Empty(Unclear):
    """There is nothing that the words could mean, so that no other words would help."""


@dataclass
class Plan:
    """What shall be done about a message."""

    calls: list[PlannedCall] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    asks: dict[str, object] | None = None
    """The tool, its known arguments, and the missing parameter for which the user is asked."""
    foreign: list[str] = field(default_factory=list)
    """The words of wishes that others fulfil."""
    unsure: bool = False
    """Whether the calls are said back to the user, and made after a yes."""
    begun: bool = False
    """Whether the user only asked for the dialog's subject."""


@dataclass(frozen=True)
class Filler:
    """Fills the arguments of a tool in one situation."""

    now: Situation
    tool: str

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Return the parameters of the tool."""
        return self.now.tools[self.tool]

    def add(self, plan: Plan, raw: Mapping[str, str], given: Mapping[str, object] | None = None) -> None:
        """Add the tool's calls to the plan, or the question for what is missing.

        Raises:
            NeedsCall: another tool has to be called first.
        """
        args = {**(given or {}), **self._spelled(raw)}
        for name, parameter in self.parameters.items():
            if name not in raw or parameter.kind in IDENTIFIERS or self._says_nothing(parameter, raw[name]):
                continue
            try:
                args[name] = self.value(parameter, raw[name])
            except Unclear as unclear:
                plan.remarks.append(str(unclear))
                if not (isinstance(unclear, Empty) or parameter.kind in OPEN or plan.calls):
                    plan.asks = {"tool": self.tool, "slot": name, "args": args}
                return
        args |= self._answers(args, raw)
        if missing := self._missing(args):
            plan.asks = {"tool": self.tool, "slot": missing, "args": args}
            plan.remarks.append(asking(self.tool, missing, self.now.lang))
            return
        plan.calls += [call for call in self._calls(args) if call not in plan.calls]

    def value(self, parameter: Parameter, raw: str) -> object:
        """Return the typed value of raw words.

        Raises:
            NeedsCall: the words name an entry of a list that is not known yet, or several entries.
            Unclear: no value can be told from the words.
        """
        words = self.now.words
        if parameter.kind in REFERRING and (parameter.name in REFERRING or parameter.kind == "numbers"):
            return self._numbers(raw)
        readers = {"time": values.time_in, "texts": values.items, "text": values.clean, "number": values.number}
        if parameter.kind == "flag" and (answer := words.made_of(raw, "yes", "no")):
            return "yes" in answer
        if parameter.kind in ("flag", "choice") or words.choices(self.tool, parameter.name):
            value = values.choice(raw, parameter, words)
        else:
            # What is to be remembered stays as it was said.
            value = raw.strip(" ,.;:") if parameter.name == NOTE else readers[parameter.kind](raw, words)
        if value in (None, "", []):
            raise Unclear(asking(self.tool, parameter.name, self.now.lang))
        return value

    def _spelled(self, raw: Mapping[str, str]) -> dict[str, object]:
        """Return the identifiers that the words spell out; a number is one where nothing else finds the thing."""
        spelled: dict[str, object] = {}
        for name, parameter in self.parameters.items():
            if name in raw and parameter.kind in IDENTIFIERS:
                number = None if self._getter(parameter) else values.number(raw[name], self.now.words)
                if (id := identifier_in(raw[name]) or number) is not None:
                    spelled[name] = [id] if parameter.kind == "ids" else id
        return spelled

    def _missing(self, args: Mapping[str, object]) -> str | None:
        """Return the first parameter to ask for; a call without any optional value would do nothing."""
        needed = [name for name, parameter in self.parameters.items() if parameter.required]
        if self.tool.startswith((CHOOSE, ASK)):
            return None
        if absent := next((name for name in needed if args.get(name) in (None, [])), None):
            return absent
        needs = (f"needs.{self.tool}.{value}" for value in args.values())
        if absent := next((name for need in needs for name in self.now.words.phrases(need) if name not in args), None):
            return absent
        if any(self.parameters[name].kind not in REFERRING for name in needed):
            return None
        spare = [
            it for it in self.parameters.values() if not it.required and it.optional and it.kind not in IDENTIFIERS
        ]
        if any(it.name in args and it.name not in REFERRING for it in spare):
            return None
        spare.sort(key=lambda it: (it.name not in REFERRING, it.kind != "time"))
        return next((it.name for it in spare if it.name not in args), None)

    def _answers(self, args: Mapping[str, object], raw: Mapping[str, str]) -> dict[str, object]:
        """Return the missing arguments that the user has chosen or filled in; otherwise let the user do so next."""
        answered: dict[str, object] = {}
        # An order is told by the items in it, which come behind it, but not by how it is paid.
        described = [
            (name, raw[name])
            for name, it in self.parameters.items()
            if name in raw and it.kind in IDENTIFIERS and not self._says_nothing(it, raw[name])
        ]
        order = [*self.parameters]
        for name, parameter in self.parameters.items():
            getter = self._getter(parameter)
            if name in args or name in answered or getter is None or not (parameter.required or name in raw):
                continue
            results = [_object(result.text) for result in self.now.results if result.call.name == getter]
            if not results:
                words = [
                    text
                    for it, text in described
                    if it == name or (order.index(it) > order.index(name) and not self.now.words.choices(self.tool, it))
                ]
                raise NeedsCall(self._getting(getter, {**args, **answered}, words))
            if parameter.kind == "ids" and name.removesuffix("s") in results[0]:
                answered[name] = [results[0][name.removesuffix("s")]]
            elif name in results[0]:
                answered |= results[0] if getter.startswith(ASK) else {name: results[0][name]}
            else:
                # What may be chosen was shown where others do not read it, and the user says its identifier next.
                raise NeedsCall(None, {"tool": self.tool, "slot": name, "args": {**args, **answered}})
        return {name: value for name, value in answered.items() if name in self.parameters}

    def _getter(self, parameter: Parameter) -> str | None:
        kind = CHOOSE if parameter.kind in IDENTIFIERS else ASK
        names = [it for it in self.now.tools if it.startswith(kind) and parameter.name.startswith(it[len(kind) :])]
        return max(names, key=len, default=None)

    def _getting(self, getter: str, args: Mapping[str, Any], described: list[str]) -> PlannedCall:
        """Return the call of a getter that finds out what a call of the tool still needs."""
        words = next((values.clean(it, self.now.words) for it in described if identifier_in(it) is None), None)
        passable, passed = {"words": words, **args}, {}
        for name, parameter in self.now.tools[getter].items():
            # `return_delivered_order_items` is about orders that are delivered.
            named = [value for value in parameter.values if value in self.tool.split("_")]
            candidates = [passable.get(name), *(passable.get(f"{name}s") or []), *named]
            if (value := next(filter(None, candidates), None)) is not None:
                passed[name] = value
        return PlannedCall(getter, passed)

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        if parameter.kind in REFERRING:
            return not self.now.words.means(raw, "all") and values.vague(raw, self.now.words)
        # A reminder is no to-do, but the word "reminders" may well be searched for.
        kinds = (*OPEN, *IDENTIFIERS) if self.now.writes(self.tool) else IDENTIFIERS
        return parameter.kind in kinds and values.vague(raw, self.now.words)

    def _numbers(self, raw: str) -> list[int]:
        """Return the entries of the tool's list that the words name; of several like ones the user chooses one."""
        words, lang = self.now.words, self.now.lang
        if self.tool.startswith("list"):
            # The number of a page is no entry.
            return [it for it in (values.number(raw, words),) if it]
        shown_by = lists.lister(self.now, self.tool)
        listing = lists.entries_of(self.now, self.tool)
        if listing is None:
            numbers = [values.number(piece, words) or 0 for piece in values.items(raw, words)]
            if min(numbers, default=0) < 1 or (shown_by and not lists.is_seen(self.now, self.tool)):
                raise NeedsCall(PlannedCall(shown_by, {}) if shown_by else None)
            return numbers
        if not listing:
            shown = (result.text for result in self.now.results if result.call.name == shown_by)
            raise Empty(next(shown, "") or sentence("empty", lang))
        meant = lists.refer(raw, listing, words)
        if meant.choices:
            return [self._chosen(meant.choices, listing)]
        if len(listing) == 1 and words.means(raw, "all"):
            # These words name no entry, and a deletion of a single entry is not asked about.
            raise Unclear(sentence("which_of", lang, list=_shown(listing)))
        if meant.unknown:
            raise Unclear(sentence("not_on_list", lang, name=", ".join(meant.unknown), list=_shown(listing)))
        return list(meant.numbers)

    def _chosen(self, numbers: tuple[int, ...], listing: Mapping[int, str]) -> int:
        """Return the entry that the user has chosen out of several; else let them choose."""
        chooser = next((it for it in self.now.tools if it.startswith(CHOOSE) and lists.alike(it, self.tool)), None)
        answers = [_object(result.text) for result in self.now.results if result.call.name == chooser]
        if chooser and not answers:
            raise NeedsCall(PlannedCall(chooser, {"numbers": [*numbers]}))
        if chosen := next((it["number"] for it in answers if it.get("number") in numbers), None):
            return int(chosen)
        raise Unclear(sentence("which_of", self.now.lang, list=_shown({it: listing[it] for it in numbers})))

    def _calls(self, args: dict[str, Any]) -> list[PlannedCall]:
        """Make one call for each number where the tool takes one and the user meant several."""
        single = next((name for name, it in self.parameters.items() if it.kind == "number"), None)
        if single is None or not isinstance(args.get(single), list):
            return [PlannedCall(self.tool, args)]
        return [PlannedCall(self.tool, {**args, single: number}) for number in args[single]]


def identifier_in(raw: str) -> str | None:
    """Return the identifier that the user's words hold; None if the words only describe a thing."""
    return word[0] if (word := _SPELLED.search(raw)) else None


def _shown(listing: Mapping[int, str]) -> str:
    return "\n".join(f"{number}. {entry}" for number, entry in listing.items())


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; the plan is empty unless every word was understood.

    Raises:
        NeedsCall: an entry of a list is meant that the conversation does not tell for certain.
    """
    plan = Plan()
    if (shall := now.note("shall")) and now.says("yes"):
        plan.calls = [PlannedCall(call["name"], call["args"]) for call in shall["calls"]]
        plan.foreign = shall["foreign"]
    elif now.wishes and not _is_answer(now):
        if _is_cut(now) or not all(it.pattern.owner or is_plain(now, it) for it in now.wishes):
            return plan
        for match in now.wishes:
            _follow(now, plan, match)
        _fill_once(now, plan)
    elif asks := _answered(now):
        Filler(now, asks["tool"]).add(plan, {asks["slot"]: now.heard}, asks["args"])
        # Who has begun a wish answers what it lacks; a form's question was not the user's idea.
        is_open = now.tools[asks["tool"]][asks["slot"]].kind in OPEN
        plan.unsure = bool(plan.calls) and is_open and asks["tool"] == FILL_FORM
    elif HELP in now.tools and now.words.asks(now.heard) and not is_request(now.heard, now.words.lang):
        call = PlannedCall(SEARCH, {"queries": [now.heard[:200]]}) if SEARCH in now.tools else None
        plan.calls.append(call or PlannedCall(HELP, {"query": now.heard}))
    if plan.remarks and (plan.calls or plan.foreign or len(plan.remarks) > 1):
        plan.calls, plan.foreign, plan.asks = [], [], None
        plan.remarks.append(sentence("nothing_done", now.lang))
    return plan


def _answered(now: Situation) -> Any:
    """Return the open question if these words may answer it: words of a sentence are no open value and no name."""
    if now.begun or not now.asks:
        return None
    kind, is_form = now.tools[now.asks["tool"]][now.asks["slot"]].kind, now.asks["tool"] == FILL_FORM
    if kind not in (*OPEN, *REFERRING, *IDENTIFIERS):
        return now.asks if _is_answer(now) else None
    is_order = (is_form and now.all_phrases.begins_order(now.heard)) or now.phrases.holds_wish(now.heard)
    return now.asks if values.is_name(now.heard, now.words) and not is_order else None


def _is_answer(now: Situation) -> bool:
    """Tell whether the words are plainly a value of the kind that was asked for, whatever else they may be."""
    parameter = now.tools[now.asks["tool"]][now.asks["slot"]] if now.asks and not now.begun else None
    if parameter is None or parameter.kind in (*OPEN, *REFERRING, *IDENTIFIERS):
        return False
    try:
        return Filler(now, parameter.tool).value(parameter, now.heard) is not None
    except Unclear:
        return False


def _follow(now: Situation, plan: Plan, match: Match) -> None:
    pattern = match.pattern
    if pattern.owner:
        plan.foreign.append(match.text)
    elif pattern.tool == HELP:
        plan.calls.append(PlannedCall(HELP, {"query": match.text if len(now.wishes) > 1 else now.heard}))
    elif pattern.tool not in now.tools:
        plan.begun = True
    else:
        Filler(now, lists.tool_for(now, match)).add(plan, match.slots)
        plan.unsure = plan.unsure or not is_sure(now, match)


def _fill_once(now: Situation, plan: Plan) -> None:
    """Make one call of all that a message tells of a form; what is told of a list is added to what it holds."""
    filled = [call for call in plan.calls if call.name == FILL_FORM]
    replaces = any(it.pattern.literals & now.words.listed("replaced") for it in now.wishes if not it.pattern.of_form)
    values: dict[str, Any] = {} if replaces else {**(now.facts.get("form") or {})}
    for name, value in ((name, value) for call in filled for name, value in call.args.items()):
        if isinstance(value, list) and isinstance(values.get(name), list):
            value = list(dict.fromkeys([*values[name], *value]))
        values[name] = value
    if filled:
        args = {name: values[name] for call in filled for name in call.args}
        plan.calls = [PlannedCall(FILL_FORM, args), *(call for call in plan.calls if call not in filled)]


def _open_slots(now: Situation, match: Match) -> list[str]:
    tool = match.pattern.tool
    if not now.writes(tool):
        return []
    typed = {name for name, it in now.tools.get(tool, {}).items() if it.kind not in OPEN}
    named = {*typed, *now.words.phrases(f"named.{tool}")}
    return [slot for slot in match.slots if slot not in named and not now.words.choices(tool, slot)]


def is_sure(now: Situation, match: Match) -> bool:
    """Tell whether a wish may be done at once: an example says it, and what fills its open values is plain.

    An answer to a question in the words of the field that was asked for is as plain. Who only looks changes nothing.
    """
    pattern, opened = match.pattern, _open_slots(now, match)
    asked = {field for it in now.wishes if it.pattern.of_form for field in it.slots} & {(now.asks or {}).get("slot")}
    is_told = pattern.of_form and pattern.is_telling and bool(asked)
    is_bounded = is_told or all(pattern.is_bounded(it, now.tools[pattern.tool]) for it in opened)
    are_names = all(values.is_name(match.slots[it], now.words) for it in opened)
    is_plain_write = match.is_exact and is_bounded and are_names and not _counts_unseen(now, match)
    return not now.writes(pattern.tool) or is_plain_write


def _counts_unseen(now: Situation, match: Match) -> bool:
    """Tell whether a wish counts on a list that nobody has named or seen: "delete the second one"."""
    places = [match.slots[it] for it in match.slots if it in REFERRING]
    is_counted = any(values.number(raw, now.words) or values.last_few(raw, now.words) for raw in places)
    return match.pattern.is_weak and is_counted and not lists.is_seen(now, lists.tool_for(now, match))


def _is_cut(now: Situation) -> bool:
    """Tell whether a wish for a change may go on in the next one: "delete all my to-dos and reminders"."""
    pairs = zip(now.wishes, now.wishes[1:], strict=False)
    return any(now.writes(first.pattern.tool) and second.names_only for first, second in pairs)


def is_plain(now: Situation, match: Match) -> bool:
    """Tell whether what fills the open values may be meant for them: a sentence at an open end is a note or chat."""
    opened = [slot for slot in _open_slots(now, match) if slot != NOTE]
    kinds = now.tools.get(match.pattern.tool, {})
    return all(values.is_name(match.slots[it], now.words) or match.pattern.is_bounded(it, kinds) for it in opened)
