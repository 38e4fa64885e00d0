"""From wishes to tool calls: find the value of each argument, look up names, ask for missing arguments.

An argument that is not in the user's words may come from another tool. By convention `choose_thing` lets the user
choose the thing of an identifier `thing_id` or `thing_ids`, and `ask_thing` lets them fill in the parameters whose
names begin with `thing`. The tool's result has the argument under its own name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.plugins.standin import lists, values
from app.plugins.standin.replies import joined
from app.plugins.standin.situation import FILL_FORM, PROTOCOL, PlannedCall, Situation
from app.plugins.standin.values import IDENTIFIERS, NOTE, OPEN, REFERRING, WHEN, Parameter
from app.plugins.standin.vocabulary import asking, sentence

CHOOSE, ASK, CHANGE, STOP, SKIP = "choose_", "ask_", "change_", "stop_", "skip_"
LOOKUPS = (lists.LIST, CHOOSE, ASK, *PROTOCOL)
"""Name prefixes of tools that look something up for other tools."""
_SPELLED = re.compile(r"[#№]\w[\w-]*|(?<!\w)(?:[a-z][a-z_-]*\d[\w-]+|\d{5,}[\w-]*)", re.ASCII | re.IGNORECASE)
"""An identifier in a user's spelling: letters before digits, or many digits. "3:10 to Yuma" and "1917" are titles."""


class NeedsCall(Exception):
    """An argument needs another tool's `call` first. It is None if no tool helps; then `asks` is the open question."""

    def __init__(self, call: PlannedCall | None, asks: Mapping[str, object] | None = None) -> None:
        super().__init__(call)
        self.call, self.asks = call, asks


class Unclear(Exception):
    """The words give no clear value; the exception's message is for the user."""


@dataclass
class Plan:
    """The plan for a message: calls, remarks, and an open question."""

    calls: list[PlannedCall] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    asks: dict[str, object] | None = None
    """The open question: tool, known arguments, missing parameter."""
    foreign: list[str] = field(default_factory=list)
    """The words of wishes for other speakers."""
    unsure: bool = False
    """Whether the writing calls need the user's confirmation."""
    begun: bool = False
    """Whether the user has only asked for the dialog itself."""


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
        """Add the tool's calls to the plan, or the question for a missing one. Raises NeedsCall: one comes first."""
        words, kinds = self.now.words, {name: self.parameters[name].kind for name in raw}
        every = {it for it in raw if kinds[it] in IDENTIFIERS and "all" in words.made_of(raw[it], "stop", "all")}
        plan.remarks += [sentence("one_by_one", self.now.lang)] * bool(every)
        slots = {it: raw[it] for it in raw if not (it in every or self._says_nothing(self.parameters[it], raw[it]))}
        args = {**(given or {}), **self._spelled(raw)}
        for name, parameter in self.parameters.items():
            if name not in slots or parameter.kind in IDENTIFIERS:
                continue
            try:
                args[name] = self.value(parameter, slots[name])
            except Unclear as unclear:
                plan.remarks.append(str(unclear))
                is_over = plan.calls or lists.entries_of(self.now, self.tool) == {}
                plan.asks = None if is_over else {"tool": self.tool, "slot": name, "args": args}
                return
        args |= self._answers(args, slots)
        if missing := self._missing(args):
            if missing == WHEN and any(values.tells_time(text, self.now.words) for text in slots.values()):
                # "Pills every day at 8 and at 20": another time would be wrong beside those in the text.
                plan.remarks.append(sentence("not_understood", self.now.lang))
                return
            plan.asks = {"tool": self.tool, "slot": missing, "args": args}
            plan.remarks.append(asking(self.tool, missing, self.now.lang))
            return
        plan.calls += [call for call in self._calls(args) if call not in plan.calls]

    def value(self, parameter: Parameter, raw: str) -> object:
        """Return the typed value of raw words. Raises NeedsCall: its list is unknown. Raises Unclear: none."""
        words = self.now.words
        if parameter.kind in REFERRING and parameter.name in REFERRING and not self.tool.startswith("list"):
            numbers = self._numbers(raw)
            return numbers[0] if parameter.kind == "number" and len(numbers) == 1 else numbers
        readers = {"time": values.time_in, "texts": values.items, "text": values.clean, "number": values.number}
        if parameter.kind == "flag" and (answer := words.made_of(raw, "yes", "no")):
            return "yes" in answer
        if parameter.kind in ("flag", "choice") or words.choices(self.tool, parameter.name):
            of_field = self.now.fields.get(parameter.name, {}) if self.tool == FILL_FORM else {}
            value = values.choice(raw, parameter, words, of_field.get("values", {}))
        else:
            # A note keeps the user's own words.
            value = raw.strip(" ,.;:") if parameter.name == NOTE else readers[parameter.kind](raw, words)
        if value in (None, "", []):
            raise Unclear(asking(self.tool, parameter.name, self.now.lang))
        return value

    def _spelled(self, raw: Mapping[str, str]) -> dict[str, object]:
        """Return the identifiers that the words spell out; a number counts as one if no tool can look the thing up."""
        spelled: dict[str, object] = {}
        for name, text in raw.items():
            parameter = self.parameters[name]
            number = None if self._getter(parameter) else values.number(text, self.now.words)
            if parameter.kind in IDENTIFIERS and (id := identifier_in(text) or number) is not None:
                spelled[name] = [id] if parameter.kind == "ids" else id
        return spelled

    def _missing(self, args: Mapping[str, object]) -> str | None:
        """Return the first missing parameter; a call without any optional value would do nothing."""
        needed = [name for name, parameter in self.parameters.items() if parameter.required]
        needed += [name for value in args.values() for name in self.now.words.phrases(f"needs.{self.tool}.{value}")]
        if absent := next((name for name in needed if args.get(name) in (None, [])), None):
            return None if self.tool.startswith((CHOOSE, ASK)) else absent
        if any(self.parameters[name].kind not in REFERRING for name in needed) or {*args} - {*REFERRING}:
            return None
        spare = [it for it in self.parameters.values() if it.optional and it.kind not in IDENTIFIERS]
        spare.sort(key=lambda it: (it.name not in REFERRING, it.kind != "time"))
        return next((it.name for it in spare if it.name not in args), None)

    def _answers(self, args: Mapping[str, object], slots: Mapping[str, str]) -> dict[str, object]:
        """Return the missing arguments that the user has chosen or filled in; else let the user do so next."""
        answered: dict[str, object] = {}
        for place, (name, parameter) in enumerate(self.parameters.items()):
            getter = self._getter(parameter)
            if name in {*args, *answered} or getter is None or not (parameter.required or name in slots):
                continue
            getter_results = [result for result in self.now.results if result.call.name == getter]
            results = [_object(result.text) for result in getter_results]
            if getter_results and not getter_results[0].failed and getter_results[0].text == "[]":
                # Nothing fits the words, and nothing is to be chosen.
                raise NeedsCall(None)
            if not results:
                # The parameters after an order, such as its items, tell which order is meant.
                behind = [it for it in [*self.parameters][place:] if self.parameters[it].kind in IDENTIFIERS]
                descriptions = [slots[it] for it in behind if it in slots]
                raise NeedsCall(self._getting(getter, {**args, **answered}, descriptions))
            if parameter.kind == "ids" and name.removesuffix("s") in results[0]:
                answered[name] = [results[0][name.removesuffix("s")]]
            elif name in results[0]:
                answered |= results[0] if getter.startswith(ASK) else {name: results[0][name]}
            else:
                # The user has seen the choices privately, and says an identifier next.
                raise NeedsCall(None, {"tool": self.tool, "slot": name, "args": {**args, **answered}})
        return {name: value for name, value in answered.items() if name in self.parameters}

    def _getter(self, parameter: Parameter) -> str | None:
        kind = CHOOSE if parameter.kind in IDENTIFIERS else ASK
        names = [it for it in self.now.tools if it.startswith(kind) and parameter.name.startswith(it[len(kind) :])]
        return max(names, key=len, default=None)

    def _getting(self, getter: str, args: Mapping[str, Any], descriptions: list[str]) -> PlannedCall:
        """Return the call of a getter that finds the missing argument of a call."""
        words = next((values.clean(it, self.now.words) for it in descriptions if identifier_in(it) is None), None)
        passable, passed = {"words": words, **args}, {}
        for name, parameter in self.now.tools[getter].items():
            # `return_delivered_order_items` is about orders that are delivered.
            named = [value for value in parameter.values if value in self.tool.split("_")]
            candidates = [passable.get(name), *(passable.get(f"{name}s") or []), *named]
            if (value := next(filter(None, candidates), None)) is not None:
                passed[name] = value
        return PlannedCall(getter, passed)

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        # A reminder is not a to-do, but the word "reminders" may well be searched for.
        kinds = (*OPEN, *IDENTIFIERS, *REFERRING) if self.now.writes(self.tool) else IDENTIFIERS
        is_it = parameter.kind in REFERRING and lists.pointed(self.now, self.tool, {parameter.name: raw})
        return parameter.kind in kinds and not is_it and values.vague(raw, self.now.words)

    def _numbers(self, raw: str) -> list[int]:
        """Return the numbers of the entries of the tool's list that the words name."""
        words, shown_by = self.now.words, lists.lister(self.now, self.tool)
        if last := lists.pointed(self.now, self.tool, {REFERRING[0]: raw}):
            return [last]
        listing = lists.entries_of(self.now, self.tool)
        if listing is None:
            place = values.number(raw, words) or 0
            if shown_by is None and place > 0:
                return [place]
            raise NeedsCall(PlannedCall(shown_by, {}) if shown_by else None)
        if not (meant := lists.refer(raw, listing, words)):
            raise Unclear(next(it.text for it in self.now.results if it.call.name == shown_by))
        if unknown := [name for name, places in meant.items() if not places]:
            remark, latest = sentence("not_on_list", self.now.lang, name=", ".join(unknown)), self.now.results[-1]
            if listing and latest.call.name != shown_by and shown_by and "page" in self.now.tools[shown_by]:
                # Another list, looked at in vain, would be the last one.
                raise NeedsCall(PlannedCall(shown_by, {"page": 1}))
            shown = "" if latest.seen and latest.call.name == shown_by else _shown(listing)
            raise Unclear(joined(remark, shown, by="\n"))
        places = [it[0] if len(it) == 1 else self._chosen(it, listing) for it in meant.values()]
        return list(dict.fromkeys(places))

    def _chosen(self, numbers: list[int], listing: Mapping[int, str]) -> int:
        """Return the number of the entry that the user has chosen among several; else let them choose."""
        chooser = f"{CHOOSE}{values.thing(self.tool)}"
        answers = [_object(result.text) for result in self.now.results if result.call.name == chooser]
        if chooser in self.now.tools and not answers:
            raise NeedsCall(PlannedCall(chooser, {"numbers": numbers}))
        if any(result.declined for result in self.now.results):
            raise NeedsCall(None)
        if chosen := next((it["number"] for it in answers if it.get("number") in numbers), None):
            return int(chosen)
        raise Unclear(sentence("which_of", self.now.lang, list=_shown({it: listing[it] for it in numbers})))

    def _calls(self, args: dict[str, Any]) -> list[PlannedCall]:
        """Return the tool's call, or one call for each number if the tool takes one and the user means several."""
        single = next((name for name, it in self.parameters.items() if it.kind == "number"), None)
        if single is None or not isinstance(args.get(single), list):
            return [PlannedCall(self.tool, args)]
        return [PlannedCall(self.tool, {**args, single: number}) for number in args[single]]


def identifier_in(raw: str) -> str | None:
    """Return the identifier in the user's words; None if the words only describe a thing."""
    return word[0] if (word := _SPELLED.search(raw)) else None


def _shown(listing: Mapping[int, str]) -> str:
    return "\n".join(f"{number}. {entry}" for number, entry in listing.items())


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}
