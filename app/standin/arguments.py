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

from app.standin import references, values
from app.standin.phrasebook import Match
from app.standin.references import ASK, CHOOSE
from app.standin.situation import HELP, SEARCH, PlannedCall, Situation
from app.standin.values import IDENTIFIERS, NOTE, QUERIES, REFERRING, Parameter
from app.standin.vocabulary import asking, sentence

WORDS = "words"
"""The parameter of a choosing tool that takes what the user said of the thing."""
LONGEST_QUERY = 200
"""Characters of a question that is searched for."""
_SPELLED = re.compile(r"[#№]?[^\s,;.!?\"«»“”]*\d[^\s,;!?\"«»“”]*[^\s,;.!?\"«»“”]")
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
    foreign: list[Match] = field(default_factory=list)
    unclear: bool = False
    """Whether words of the user were not the value that their sentence asked for."""
    begun: bool = False
    """Whether the user only asked for the dialog's subject ("help me plan my day")."""
    values: dict[str, Any] = field(default_factory=dict)
    """New values of the fields of a form."""

    @property
    def empty(self) -> bool:
        """Whether nothing was understood."""
        return self == Plan()


@dataclass(frozen=True)
class Filler:
    """Fills the arguments of a tool in one situation."""

    now: Situation
    tool: str

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Return the parameters of the tool."""
        return self.now.tools.get(self.tool, {})

    def add(self, plan: Plan, raw: Mapping[str, str], given: Mapping[str, object] | None = None) -> None:
        """Add the tool's calls to the plan, or the question for what is missing.

        Raises:
            NeedsCall: another tool has to be called first.
        """
        parameters, tool = self.parameters, self.tool
        named = {name: text for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
        ids = {name: self._id(parameters[name], text) for name, text in named.items()}
        spelled = {name: [id] if parameters[name].kind == "ids" else id for name, id in ids.items() if id}
        args = {**(given or {}), **spelled}
        for name, parameter in parameters.items():
            if name not in raw or parameter.kind in IDENTIFIERS or self._says_nothing(parameter, raw[name]):
                continue
            try:
                if (value := self.value(parameter, raw[name])) != "":
                    args[name] = value
            except Unclear as unclear:
                plan.unclear = True
                plan.remarks.append(str(unclear))
                if not (isinstance(unclear, Empty) or parameter.kind in ("text", "texts") or plan.calls):
                    plan.asks = {"tool": tool, "slot": name, "args": args}
                return
        args |= self._answers(args, raw)
        # A tool that itself finds out what is meant needs no question before it.
        is_getter = tool.startswith((CHOOSE, ASK)) and all(it.kind not in REFERRING for it in parameters.values())
        missing = None if is_getter else _missing_of(parameters, args)
        missing = missing or self._needed(args)
        if missing and (numbers := self._pointed_at(parameters[missing], is_vague=missing in raw)) is not None:
            args[missing] = numbers
            missing = _missing_of(parameters, args)
        if missing:
            plan.asks = {"tool": tool, "slot": missing, "args": args}
            plan.remarks.append(asking(missing, self.now.lang, tool))
            return
        plan.calls += [call for call in _spread(tool, parameters, args) if call not in plan.calls]

    def value(self, parameter: Parameter, raw: str) -> object:
        """Return the typed value of raw words for a tool.

        Raises:
            NeedsCall: the words name an entry of a list that is not known yet, or several entries.
            Unclear: no value can be told from the words.
        """
        words, value = self.now.words, None
        if parameter.kind in ("flag", "choice") or self._is_closed(parameter):
            value = values.named(raw, parameter, words)
        elif parameter.kind == "time":
            value = values.time_in(raw, words)
        elif parameter.kind in REFERRING:
            return self._numbers(raw)
        elif parameter.name == NOTE:
            return raw.strip(" ,.;:")
        else:
            return values.items(raw, words) if parameter.kind == "texts" else values.clean(raw, words)
        if value is None:
            raise Unclear(asking(parameter.name, self.now.lang, self.tool))
        return value

    def _needed(self, args: Mapping[str, object]) -> str | None:
        """Return what a value makes necessary and nobody has said: who asks for a reminder names what of."""
        needs = (f"needs.{self.tool}.{value}" for value in args.values())
        return next((name for need in needs for name in self.now.words.phrases(need) if name not in args), None)

    def _answers(self, args: Mapping[str, object], raw: Mapping[str, str]) -> dict[str, object]:
        """Return the missing arguments that the user has chosen or filled in; otherwise let the user do so next."""
        answered: dict[str, object] = {}
        parameters = self.parameters
        described = {name: text for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
        places = {name: place for place, name in enumerate(parameters)}
        for name, parameter in parameters.items():
            getter = self._getter(parameter)
            if name in args or name in answered or getter is None or not (parameter.required or name in described):
                continue
            results = [_object(result.text) for result in self.now.results if result.call.name == getter]
            if not results:
                # An order is told by the items in it, which come behind it, but not by how it is paid.
                own = [it for it in described if it == name]
                inner = [it for it in described if places[it] > places[name] and not self._is_closed(parameters[it])]
                texts = [described[it] for it in own + inner if not self._says_nothing(parameters[it], described[it])]
                raise NeedsCall(self._getting(getter, {**args, **answered}, texts))
            single = name.removesuffix("s")
            if parameter.kind == "ids" and single in results[0]:
                answered[name] = [results[0][single]]
            elif name in results[0]:
                answered |= results[0] if getter.startswith(ASK) else {name: results[0][name]}
            else:
                # What may be chosen was shown where others do not read it, and the user says its identifier next.
                raise NeedsCall(None, {"tool": self.tool, "slot": name, "args": {**args, **answered}})
        return {name: value for name, value in answered.items() if name in parameters}

    def _id(self, parameter: Parameter, raw: str) -> str | int | None:
        """Return the identifier in the user's words, or the number that it was shown by where nothing else finds it."""
        number = None if self._getter(parameter) else references.plain_number(raw, self.now.words)
        return _spelled_out(raw) or (number if number and number > 0 else None)

    def _is_closed(self, parameter: Parameter) -> bool:
        return bool(self.now.words.phrases(parameter.word_list))

    def _getter(self, parameter: Parameter) -> str | None:
        kind = CHOOSE if parameter.kind in IDENTIFIERS else ASK
        names = [it for it in self.now.tools if it.startswith(kind) and parameter.name.startswith(it[len(kind) :])]
        return max(names, key=len, default=None)

    def _getting(self, getter: str, args: Mapping[str, Any], described: list[str]) -> PlannedCall:
        """Return the call of a getter that finds out what a call of the tool still needs."""
        words = next((values.clean(text, self.now.words) for text in described if _spelled_out(text) is None), None)
        passable = {WORDS: words, **args}
        passed: dict[str, object] = {}
        for name, parameter in self.now.tools[getter].items():
            # `return_delivered_order_items` is about orders that are delivered.
            named = [value for value in parameter.values if value in self.tool.split("_")]
            candidates = [passable.get(name), *(passable.get(f"{name}s") or []), *named]
            if (value := next(filter(None, candidates), None)) is not None:
                passed[name] = value
        return PlannedCall(getter, passed)

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        if parameter.name == QUERIES:
            # A reminder is no to-do, but the word "reminders" may well be searched for.
            return not set(self.now.words.stems(raw)) - self.now.words.stop
        if parameter.kind in REFERRING and self.now.words.means(raw, "references.all"):
            return False
        points = parameter.kind in REFERRING and self.now.words.means(raw, "references.it")
        return points or (parameter.kind != "choice" and values.vague(raw, self.now.words))

    def _pointed_at(self, parameter: Parameter, *, is_vague: bool) -> list[int] | None:
        """Return the one entry that "the alarm" can mean, or let the user choose; None if no entry is meant at all."""
        if parameter.kind not in REFERRING or self._list_tool is None:
            return None
        listing = references.entries_of(self.now, self.tool)
        if listing is None:
            raise NeedsCall(PlannedCall(self._list_tool, {}))
        if len(listing) == 1 and not is_vague:
            return list(listing)
        return [self._chosen(tuple(listing), listing)] if listing and self._chooser else None

    def _numbers(self, raw: str) -> list[int]:
        words, lang = self.now.words, self.now.lang
        # The number of a page is no entry.
        is_list = self.tool in references.list_tools(self.now)
        listing = None if is_list else references.entries_of(self.now, self.tool)
        if listing is None:
            numbers = [references.plain_number(piece, words) or 0 for piece in values.items(raw, words)]
            if min(numbers, default=0) < 1:
                raise NeedsCall(PlannedCall(self._list_tool, {}) if self._list_tool else None)
            return numbers
        if not listing:
            shown = (result.text for result in self.now.results if result.call.name == self._list_tool)
            raise Empty(next(shown, "") or sentence("empty", lang))
        meant = references.refer(raw, listing, words)
        if meant.choices:
            return [self._chosen(meant.choices, listing)]
        if len(listing) == 1 and words.means(raw, "references.all"):
            # These words name no entry, and a deletion of a single entry is not asked about.
            raise Unclear(sentence("which_of", lang, list=_shown(listing)))
        if meant.unknown:
            raise Unclear(sentence("not_on_list", lang, name=", ".join(meant.unknown), list=_shown(listing)))
        return list(meant.numbers)

    def _chosen(self, numbers: tuple[int, ...], listing: Mapping[int, str]) -> int:
        """Return the entry that the user has chosen out of several; else let them choose."""
        answers = [_object(result.text) for result in self.now.results if result.call.name == self._chooser]
        if self._chooser and not answers:
            raise NeedsCall(PlannedCall(self._chooser, {"numbers": [*numbers]}))
        for answer in answers:
            if answer.get("number") in numbers:
                return int(answer["number"])
        shown = _shown({number: listing[number] for number in numbers})
        raise Unclear(sentence("which_of", self.now.lang, list=shown))

    @property
    def _list_tool(self) -> str | None:
        return references.of_its_things(references.list_tools(self.now), self.tool)

    @property
    def _chooser(self) -> str | None:
        return references.of_its_things(references.choosers(self.now), self.tool)


def _shown(listing: Mapping[int, str]) -> str:
    return "\n".join(f"{number}. {entry}" for number, entry in listing.items())


def _spelled_out(raw: str) -> str | None:
    """Return the identifier that the user's words hold; None if the words only describe a thing."""
    word = _SPELLED.search(raw)
    return word[0] if word and len(word[0]) >= 4 else None


def _missing_of(parameters: Mapping[str, Parameter], args: Mapping[str, object]) -> str | None:
    """Return the first parameter to ask for; a call without any optional value would do nothing."""
    needed = [name for name, parameter in parameters.items() if parameter.required]
    if absent := next((name for name in needed if args.get(name) in (None, [])), None):
        return absent
    if any(parameters[name].kind not in REFERRING for name in needed):
        return None
    # An optional identifier stands for what the user owns, and a number alone changes nothing.
    spare = [it for it in parameters.values() if not it.required and it.optional and it.kind not in IDENTIFIERS]
    if any(it.name in args and it.name not in REFERRING for it in spare):
        return None
    spare.sort(key=lambda it: (it.name not in REFERRING, it.kind != "time"))
    return next((it.name for it in spare if it.name not in args), None)


def _spread(tool: str, parameters: Mapping[str, Parameter], args: dict[str, Any]) -> list[PlannedCall]:
    """Make one call for each number where a tool takes one and the user meant several."""
    single = next((name for name, entry in parameters.items() if entry.kind == "number"), None)
    if single is None or not isinstance(args.get(single), list):
        return [PlannedCall(tool, args)]
    return [PlannedCall(tool, {**args, single: number}) for number in args[single]]


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
    matches = now.wishes()
    is_wish = any(match.pattern.strong or not match.pattern.owner for match in matches)
    if is_wish or now.begun or not _answer(now, plan):
        follow(now, plan, matches)
    if (plan.empty or plan.begun) and not plan.foreign:
        # The question of a tool opens the dialog ("help me plan my day").
        for tool in now.words.phrases("begins"):
            if tool in now.tools and now.words.means(now.heard, f"begins.{tool}"):
                Filler(now, tool).add(plan, {})
    if plan.empty and wants_help(now):
        # Where documents can be searched, a question asks about their contents.
        looked_up = PlannedCall(SEARCH, {"queries": [now.heard[:LONGEST_QUERY]]})
        plan.calls.append(looked_up if SEARCH in now.tools else PlannedCall(HELP, {"query": now.heard}))
    return plan


def follow(now: Situation, plan: Plan, matches: tuple[Match, ...]) -> None:
    """Plan what the wishes ask for. If one wish is not clear, nothing of the others is planned."""
    for match in matches:
        if match.pattern.owner:
            plan.foreign.append(match)
        elif match.pattern.tool == HELP:
            plan.calls.append(PlannedCall(HELP, {"query": match.text if len(matches) > 1 else now.heard}))
        elif match.pattern.tool not in now.tools:
            plan.begun = True
        elif len(references.list_tools(now)) < 2 or not references.points(match, now.words):
            names_entry = match.pattern.points and references.names_no_list(match, now.words)
            elsewhere = references.tool_for(now, match) if names_entry else None
            Filler(now, elsewhere or match.pattern.tool).add(plan, match.slots)
        elif (text := references.with_list(now, match)) and (named := now.phrases.wishes(text)):
            Filler(now, named[0].pattern.tool).add(plan, named[0].slots)
        else:
            plan.remarks.append(sentence("which_list", now.lang))
    if plan.remarks and (plan.calls or plan.foreign or len(plan.remarks) > 1):
        plan.calls, plan.foreign, plan.asks = [], [], None
        plan.remarks.append(sentence("nothing_done", now.lang))


def cancelled(now: Situation) -> str:
    """Return what to say when the user takes back what the speaker was asking about."""
    is_cancelled = now.note("asks") and now.words.made_of(now.heard, "cancel", "no")
    return sentence("cancelled", now.lang) if is_cancelled else ""


def wants_help(now: Situation) -> bool:
    """Tell whether the text is a question that does not ask for an action, as "could you …?" does."""
    stems = tuple(now.words.stems(now.heard))
    is_request = any(stems[: len(start)] == start for start in now.words.openings)
    return HELP in now.tools and now.words.asks(now.heard) and not is_request


def _answer(now: Situation, plan: Plan) -> bool:
    asks, words, text = now.note("asks") or {}, now.words, now.heard
    parameter = now.tools.get(asks.get("tool", ""), {}).get(asks.get("slot", ""))
    if parameter is None or values.vague(text, words) or words.begins(text, "answers.orders"):
        return False
    if words.made_of(text, "go_on.phrases"):
        return False
    if parameter.kind in ("text", "texts") and not values.is_answer(text, words, errands=True):
        return False
    Filler(now, asks["tool"]).add(plan, {parameter.name: text}, asks["args"])
    return True
