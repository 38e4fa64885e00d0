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

from agents.models.standin.pattern import Match
from agents.models.standin.references import (
    ASK,
    CHOOSE,
    chooser,
    entries_of,
    list_tool,
    list_tools,
    plain_number,
    points,
    refer,
    with_list,
)
from agents.models.standin.situation import HELP, Call, Situation
from agents.models.standin.values import (
    IDENTIFIERS,
    QUERIES,
    REFERRING,
    Parameter,
    clean,
    is_answer,
    is_order,
    items,
    named,
    time_in,
    vague,
)
from agents.models.standin.vocabulary import asking, sentence

WORDS = "words"
"""The parameter of a choosing tool that takes what the user said of the thing."""
_SPELLED = re.compile(r"[#№]?[^\s,;.!?\"«»“”]*\d[^\s,;!?\"«»“”]*[^\s,;.!?\"«»“”]")
"""An identifier as a user writes it: a word of several letters and digits."""


class NeedsCall(Exception):
    """An argument needs another tool first: one that shows a list, or lets the user choose.

    Its argument is the call; none if no tool helps.
    """


class Unclear(Exception):
    """A value cannot be told from the words; the message is what to say to the user."""


@dataclass
class Plan:
    """What shall be done about a message."""

    calls: list[Call] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    asks: dict[str, Any] | None = None
    """The tool, its known arguments and the missing parameter that the user is asked for."""
    foreign: list[Match] = field(default_factory=list)
    begun: bool = False
    """Whether the user only asked for what the dialog is there for ("help me plan my day")."""

    @property
    def empty(self) -> bool:
        """Whether nothing was understood."""
        return not (self.calls or self.remarks or self.asks or self.foreign or self.begun)


@dataclass(frozen=True)
class Filler:
    """Fills a tool's arguments in one situation."""

    now: Situation
    with_lists: bool = True
    """Whether the conversation may be searched for what numbers and names refer to."""

    def add(self, plan: Plan, tool: str, raw: Mapping[str, str], known: Mapping[str, Any] | None = None) -> None:
        """Add a tool's calls to the plan, or the question for what is missing.

        Raises:
            NeedsCall: another tool has to be called first.
        """
        parameters = self.now.tools.get(tool, {})
        args = {**(known or {}), **_spelled(parameters, raw)}
        for name, parameter in parameters.items():
            if name not in raw or parameter.kind in IDENTIFIERS or self._says_nothing(parameter, raw[name]):
                continue
            try:
                if (value := self.value(tool, parameter, raw[name])) != "":
                    args[name] = value
            except Unclear as unclear:
                plan.remarks.append(str(unclear))
                if parameter.kind not in ("text", "texts") and not plan.calls:
                    plan.asks = {"tool": tool, "slot": name, "args": args}
                return
        args |= self._got(tool, args, raw)
        missing = None if _is_getter(tool, parameters) else _missing_of(parameters, args)
        if missing and (number := self._pointed_at(tool, parameters[missing], is_vague=missing in raw)) is not None:
            args = {name: {**args, missing: number}[name] for name in parameters if name in {*args, missing}}
            missing = _missing_of(parameters, args)
        if missing:
            plan.asks = {"tool": tool, "slot": missing, "args": args}
            plan.remarks.append(asking(missing, self.now.lang))
            return
        for call in _spread(tool, parameters, args):
            _merge(plan.calls, call)

    def value(self, tool: str, parameter: Parameter, raw: str) -> Any:
        """Return the typed value of raw words for a tool.

        Raises:
            NeedsCall: the words name an entry of a list that is not known yet, or several entries.
            Unclear: no value can be told from the words.
        """
        words, value = self.now.words, None
        if parameter.kind in ("flag", "choice") or words.phrases(parameter.word_list):
            value = named(raw, parameter, words)
        elif parameter.kind == "time":
            value = time_in(raw, words)
        elif parameter.kind in REFERRING:
            return self._numbers(tool, raw)
        else:
            return items(raw, words) if parameter.kind == "texts" else clean(raw, words)
        if value is None:
            raise Unclear(asking(parameter.name, self.now.lang))
        return value

    def _got(self, tool: str, args: Mapping[str, Any], raw: Mapping[str, str]) -> dict[str, Any]:
        """Return what the user has chosen or filled in of the arguments that are missing; else let them do so next."""
        got: dict[str, Any] = {}
        parameters = self.now.tools.get(tool, {})
        described = {name: text for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
        for name, parameter in parameters.items():
            getter = self._getter(parameter)
            if name in args or name in got or getter is None or not (parameter.required or name in described):
                continue
            if value := self._was_got(getter, parameter):
                got |= value
            elif any(result.call.name == getter for result in self.now.results):
                raise NeedsCall(None)
            else:
                texts = [text for name, text in described.items() if not self._says_nothing(parameters[name], text)]
                raise NeedsCall(self._getting(tool, getter, {**args, **got}, texts))
        return {name: value for name, value in got.items() if name in parameters}

    def _getter(self, parameter: Parameter) -> str | None:
        kind = CHOOSE if parameter.kind in IDENTIFIERS else ASK
        names = [it for it in self.now.tools if it.startswith(kind) and parameter.name.startswith(it[len(kind) :])]
        return max(names, key=len, default=None)

    def _was_got(self, getter: str, parameter: Parameter) -> Mapping[str, Any]:
        """Return a parameter with the value that the user has chosen, or all that they filled in; maybe empty."""
        for result in self.now.results:
            values = _object(result.text) if result.call.name == getter and not result.failed else {}
            single = parameter.name.removesuffix("s")
            if parameter.kind == "ids" and single in values:
                return {parameter.name: [values[single]]}
            if parameter.name in values:
                return values if getter.startswith(ASK) else {parameter.name: values[parameter.name]}
        return {}

    def _getting(self, tool: str, getter: str, args: Mapping[str, Any], described: list[str]) -> Call:
        """Return the call of a getter that finds out what a call of `tool` still needs."""
        words = next((clean(text, self.now.words) for text in described if _spelled_out(text) is None), None)
        passed: dict[str, Any] = {}
        for name, parameter in self.now.tools[getter].items():
            # `return_delivered_order_items` is about orders that are delivered.
            told = [value for value in parameter.values if value in tool.split("_")]
            several = args.get(f"{name}s") or []
            found = [args[name]] if name in args else [*several, *([words] if name == WORDS and words else told)]
            passed |= {name: found[0]} if found else {}
        return Call(getter, passed)

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        if parameter.name == QUERIES:
            # "Reminders" is no to-do, but may well be looked up.
            return not set(self.now.words.stems(raw)) - self.now.words.stop
        points = parameter.kind in REFERRING and self.now.words.means(raw, "references.it")
        return points or (parameter.kind != "choice" and vague(raw, self.now.words))

    def _pointed_at(self, tool: str, parameter: Parameter, *, is_vague: bool) -> list[int] | None:
        """Return the one entry that "the alarm" can mean, or let the user choose; None if no entry is meant at all."""
        if parameter.kind not in REFERRING or not self.with_lists or (shown_by := list_tool(self.now, tool)) is None:
            return None
        listing = entries_of(self.now, tool)
        if listing is None:
            raise NeedsCall(Call(shown_by, {}))
        if len(listing) == 1 and not is_vague:
            return list(listing)
        return [self._chosen(tool, tuple(listing), listing)] if listing and chooser(self.now, tool) else None

    def _numbers(self, tool: str, raw: str) -> list[int]:
        words, lang = self.now.words, self.now.lang
        # The number of a page is no entry.
        has_list = self.with_lists and tool not in list_tools(self.now)
        listing = entries_of(self.now, tool) if has_list else None
        if listing is None:
            plain = [plain_number(piece, words) or 0 for piece in items(raw, words)]
            if min(plain, default=0) < 1:
                shown_by = list_tool(self.now, tool)
                raise NeedsCall(Call(shown_by, {}) if shown_by else None)
            return plain
        if not listing:
            raise Unclear(sentence("empty", lang))
        meant = refer(raw, listing, words)
        if meant.choices:
            return [self._chosen(tool, meant.choices, listing)]
        if meant.unknown:
            raise Unclear(sentence("not_on_list", lang, name=", ".join(meant.unknown), list=_shown(listing)))
        return list(meant.numbers)

    def _chosen(self, tool: str, numbers: tuple[int, ...], listing: Mapping[int, str]) -> int:
        """Return the entry that the user has chosen out of several; else let them choose."""
        choosing = chooser(self.now, tool)
        for result in self.now.results:
            number = _object(result.text).get("number") if result.call.name == choosing else None
            if isinstance(number, int) and number in numbers:
                return number
        if choosing is None or any(result.call.name == choosing for result in self.now.results):
            shown = _shown({number: listing[number] for number in numbers})
            raise Unclear(sentence("which_of", self.now.lang, list=shown))
        raise NeedsCall(Call(choosing, {"numbers": [*numbers]}))


def _shown(listing: Mapping[int, str]) -> str:
    return "\n".join(f"{number}. {entry}" for number, entry in listing.items())


def _spelled_out(raw: str) -> str | None:
    """Return the identifier that the words of a user hold; None if they only describe what they mean."""
    word = _SPELLED.search(raw)
    return word[0] if word and len(word[0]) >= 4 else None


def _spelled(parameters: Mapping[str, Parameter], raw: Mapping[str, str]) -> dict[str, Any]:
    ids = {name: _spelled_out(text) for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
    return {name: [id] if parameters[name].kind == "ids" else id for name, id in ids.items() if id}


def _is_getter(tool: str, parameters: Mapping[str, Parameter]) -> bool:
    """Tell whether a tool itself finds out what is meant, so that nothing has to be asked before."""
    return tool.startswith((CHOOSE, ASK)) and all(it.kind not in REFERRING for it in parameters.values())


def _missing_of(parameters: Mapping[str, Parameter], args: Mapping[str, Any]) -> str | None:
    """Return the first parameter to ask for; a call that leaves out everything optional would do nothing."""
    needed = [name for name, parameter in parameters.items() if parameter.required]
    if absent := next((name for name in needed if args.get(name) in (None, [])), None):
        return absent
    if any(parameters[name].kind not in REFERRING for name in needed):
        return None
    # An identifier that may be left out stands for what is the user's own.
    spare = [name for name, it in parameters.items() if not it.required and it.optional and it.kind not in IDENTIFIERS]
    return spare[0] if spare and not any(name in args for name in spare) else None


def _spread(tool: str, parameters: Mapping[str, Parameter], args: dict[str, Any]) -> list[Call]:
    """Make one call for each number where a tool takes one and the user meant several."""
    single = next((name for name, entry in parameters.items() if entry.kind == "number"), None)
    if single is None or not isinstance(args.get(single), list):
        return [Call(tool, args)]
    return [Call(tool, {**args, single: number}) for number in args[single]]


def _merge(calls: list[Call], call: Call) -> None:
    for place, other in enumerate(calls):
        if other.name == call.name and call.args and all(isinstance(value, list) for value in call.args.values()):
            both = {name: [*other.args.get(name, []), *value] for name, value in call.args.items()}
            calls[place] = Call(call.name, {name: list(dict.fromkeys(value)) for name, value in both.items()})
            return
    if call.key not in {other.key for other in calls}:
        calls.append(call)


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def understand(now: Situation) -> Plan:
    """Return what to do about the user's words; an empty plan if they were not understood whole.

    Raises:
        NeedsCall: an entry of a list is meant that the conversation does not tell for certain.
    """
    plan = Plan()
    matches = now.wishes()
    is_wish = any(match.pattern.strong or not match.owner for match in matches)
    if is_wish or now.begun or not _answer(now, plan):
        follow(now, Filler(now), plan, matches)
    if (plan.empty or plan.begun) and not plan.foreign and (begun := _begun(now)):
        Filler(now).add(plan, begun, {})
    if plan.empty and wants_help(now):
        plan.calls.append(Call(HELP, {"query": now.heard}))
    return plan


def follow(now: Situation, filler: Filler, plan: Plan, matches: tuple[Match, ...]) -> None:
    """Plan what wishes ask for; one that is not clear leaves nothing of the others."""
    for match in matches:
        if match.owner:
            plan.foreign.append(match)
        elif match.tool == HELP:
            plan.calls.append(Call(HELP, {"query": match.text if len(matches) > 1 else now.heard}))
        elif match.tool not in now.tools:
            plan.begun = True
        elif len(list_tools(now)) < 2 or not points(match, now.words):
            filler.add(plan, match.tool, match.slots)
        elif (text := with_list(now, match)) and (named := now.find(text)):
            filler.add(plan, named.tool, named.slots)
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
    """Tell whether the text is a question, and none that wants something to be done ("could you …?")."""
    stems = tuple(now.words.stems(now.heard))
    is_request = any(stems[: len(start)] == start for start in now.words.openings)
    return HELP in now.tools and now.words.asks(now.heard) and not is_request


def _begun(now: Situation) -> str | None:
    """Return the tool whose question comes first, when the dialog is begun with such words."""
    begins = now.words.phrases("begins")
    return next((tool for tool in begins if tool in now.tools and now.words.means(now.heard, f"begins.{tool}")), None)


def _answer(now: Situation, plan: Plan) -> bool:
    asks, words, text = now.note("asks") or {}, now.words, now.heard
    parameter = now.tools.get(asks.get("tool", ""), {}).get(asks.get("slot", ""))
    if parameter is None or vague(text, words) or is_order(text, words) or words.made_of(text, "go_on.phrases"):
        return False
    if parameter.kind in ("text", "texts") and not is_answer(text, words, errands=True):
        return False
    Filler(now).add(plan, asks["tool"], {parameter.name: text}, asks["args"])
    return True
