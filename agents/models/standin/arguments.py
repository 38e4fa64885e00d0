"""From wishes to tool calls: find the value of each argument, look up what a name means, ask for what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.models.standin.identifiers import getter, getting, is_getter, spelled_out, was_got
from agents.models.standin.lists import choosing, listing, number_in, plain_number, reading, readings, refer
from agents.models.standin.pattern import Match
from agents.models.standin.sentences import asking, sentence
from agents.models.standin.situation import Situation
from agents.models.standin.times import time_in
from agents.models.standin.types import Call
from agents.models.standin.values import IDENTIFIERS, QUERIES, Parameter, clean, items, named, vague


class NeedsListing(Exception):
    """A name can only be understood with the list at hand, and the conversation does not hold it.

    Its argument is the tool that shows the list; none if there is no such tool.
    """


class NeedsChoice(Exception):
    """Several entries could be meant; its argument is the call that lets the user choose."""


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
    """Wishes that others have to fulfil."""
    begun: bool = False
    """Whether the user only asked for what the dialog is there for ("help me plan my day")."""

    @property
    def empty(self) -> bool:
        """Whether nothing was understood."""
        return not (self.calls or self.remarks or self.asks or self.foreign or self.begun)

    def nothing_by_halves(self, lang: str) -> None:
        """Do nothing of several wishes if one of them is not clear, and say so."""
        if self.remarks and (self.calls or self.foreign or len(self.remarks) > 1):
            self.calls, self.foreign, self.asks = [], [], None
            self.remarks.append(sentence("nothing_done", lang))


@dataclass(frozen=True)
class Filler:
    """Fills a tool's arguments in one situation."""

    now: Situation
    with_lists: bool = True
    """Whether the conversation may be searched for what numbers and names refer to."""

    def add(self, plan: Plan, tool: str, raw: Mapping[str, str], args_known: Mapping[str, Any] | None = None) -> None:
        """Add a tool's calls to the plan, or the question for what is missing."""
        parameters = self.now.tools.get(tool, {})
        args = {**(args_known or {}), **_spelled(parameters, raw)}
        for name, parameter in parameters.items():
            if name not in raw or parameter.kind in IDENTIFIERS or self._says_nothing(parameter, raw[name]):
                continue
            try:
                if (value := self.value(tool, parameter, raw[name])) != "":
                    args[name] = value
            except Unclear as unclear:
                plan.remarks.append(str(unclear))
                if _is_choosable(parameter) and not plan.calls:
                    plan.asks = {"tool": tool, "slot": name, "args": args}
                return
        args |= self._got(tool, parameters, args, raw)
        missing = None if is_getter(tool, parameters) else _missing_of(parameters, args)
        if missing and (number := self._pointed_at(tool, parameters[missing], is_vague=missing in raw)) is not None:
            numbered = {**args, missing: number}
            args = {name: numbered[name] for name in parameters if name in numbered}
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
            NeedsChoice: several entries of a list could be meant.
            NeedsListing: the words name an entry of a list that is not known yet.
            Unclear: no value can be told from the words.
        """
        words = self.now.words
        if parameter.kind in ("flag", "choice") or words.phrases(parameter.word_list):
            value = named(raw, parameter, words)
            if value is None:
                raise Unclear(asking(parameter.name, self.now.lang))
            return value
        if parameter.kind in ("number", "numbers"):
            return self._numbers(tool, raw)
        if parameter.kind == "time":
            if (when := time_in(raw, words)) is None:
                raise Unclear(asking(parameter.name, self.now.lang))
            return when
        return items(raw, words) if parameter.kind == "texts" else clean(raw, words)

    def _got(
        self, tool: str, parameters: Mapping[str, Parameter], args: Mapping[str, Any], raw: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return what the user has chosen or filled in of the arguments that are missing; else let them do so next.

        Raises:
            NeedsChoice: the user has to be asked by a tool.
            NeedsListing: they were, and nothing came of it.
        """
        got: dict[str, Any] = {}
        described = {name: text for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
        for name, parameter in parameters.items():
            tool_to_ask = getter(self.now, parameter)
            if name in args or name in got or tool_to_ask is None or not (parameter.required or name in described):
                continue
            value = was_got(self.now, parameter)
            if not value and any(result.call.name == tool_to_ask for result in self.now.results):
                raise NeedsListing(tool_to_ask)
            if not value:
                plain = {
                    name: text for name, text in described.items() if not self._says_nothing(parameters[name], text)
                }
                raise NeedsChoice(getting(self.now, tool, tool_to_ask, {**args, **got}, plain))
            got |= value
        return {name: value for name, value in got.items() if name in parameters}

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        if parameter.name == QUERIES:
            # "Reminders" is no to-do, but may well be looked up.
            return not set(self.now.words.stems(raw)) - self.now.words.stop
        points = parameter.kind in ("number", "numbers") and self.now.words.means(raw, "references.it")
        return points or (parameter.kind != "choice" and vague(raw, self.now.words))

    def _pointed_at(self, tool: str, parameter: Parameter, *, is_vague: bool) -> list[int] | None:
        """Return the one entry that "the alarm" can mean, or let the user choose; None if no entry is meant at all."""
        if parameter.kind not in ("number", "numbers") or not self.with_lists or reading(self.now, tool) is None:
            return None
        entries = listing(self.now, tool)
        if entries is None:
            raise NeedsListing(reading(self.now, tool))
        if len(entries) == 1 and not is_vague:
            return list(entries)
        return [self._chosen(tool, tuple(entries), entries)] if entries and choosing(self.now, tool) else None

    def _numbers(self, tool: str, raw: str) -> list[int]:
        words, lang = self.now.words, self.now.lang
        # The number of a page is no entry.
        has_list = self.with_lists and tool not in readings(self.now)
        entries = listing(self.now, tool) if has_list else None
        if entries is None:
            plain = [plain_number(piece, words) for piece in items(raw, words)]
            if not plain or any(number is None or number < 1 for number in plain):
                raise NeedsListing(reading(self.now, tool))
            return [number for number in plain if number is not None]
        if not entries:
            raise Unclear(sentence("empty", lang))
        meant = refer(raw, entries, words)
        shown = "\n".join(f"{number}. {entry}" for number, entry in entries.items())
        if meant.choices:
            return [self._chosen(tool, meant.choices, entries)]
        if meant.unknown:
            raise Unclear(sentence("not_on_list", lang, name=", ".join(meant.unknown), list=shown))
        if not meant.numbers:
            raise Unclear(sentence("no", lang))
        return list(meant.numbers)

    def _chosen(self, tool: str, numbers: tuple[int, ...], entries: Mapping[int, str]) -> int:
        """Return which of several entries the user has chosen; else let them choose, or ask in words."""
        chooser = choosing(self.now, tool)
        for result in self.now.results:
            if result.call.name == chooser and (number := number_in(result.text)) in numbers:
                return number
        if chooser is None:
            near = "\n".join(f"{number}. {entries[number]}" for number in numbers)
            raise Unclear(sentence("which_of", self.now.lang, list=near))
        raise NeedsChoice(Call(chooser, {"numbers": list(numbers)}))


def _spelled(parameters: Mapping[str, Parameter], raw: Mapping[str, str]) -> dict[str, Any]:
    """Return the identifiers that the user wrote out, by parameter."""
    ids = {name: spelled_out(text) for name, text in raw.items() if parameters[name].kind in IDENTIFIERS}
    return {name: [id] if parameters[name].kind == "ids" else id for name, id in ids.items() if id}


def _missing_of(parameters: Mapping[str, Parameter], args: Mapping[str, Any]) -> str | None:
    """Return the first parameter to ask for; a call that leaves out everything optional would do nothing."""
    needed = [name for name, parameter in parameters.items() if parameter.required]
    if absent := next((name for name in needed if args.get(name) in (None, [])), None):
        return absent
    # An identifier that may be left out stands for what is the user's own.
    spare = [name for name, it in parameters.items() if not it.required and it.optional and it.kind not in IDENTIFIERS]
    if any(parameters[name].kind not in ("number", "numbers") for name in needed):
        return None
    return spare[0] if spare and not any(name in args for name in spare) else None


def _spread(tool: str, parameters: Mapping[str, Parameter], args: dict[str, Any]) -> list[Call]:
    """Make one call for each number where a tool takes one and the user meant several."""
    single = next((name for name, entry in parameters.items() if entry.kind == "number"), None)
    if single is None or not isinstance(args.get(single), list):
        return [Call(tool, args)]
    return [Call(tool, {**args, single: number}) for number in args[single]]


def _merge(calls: list[Call], call: Call) -> None:
    """Add a call to others; lists for the same tool become one list."""
    for place, other in enumerate(calls):
        if other.name == call.name and call.args and all(isinstance(value, list) for value in call.args.values()):
            both = {name: [*other.args.get(name, []), *value] for name, value in call.args.items()}
            calls[place] = Call(call.name, {name: list(dict.fromkeys(value)) for name, value in both.items()})
            return
    if call.key not in {other.key for other in calls}:
        calls.append(call)


def _is_choosable(parameter: Parameter) -> bool:
    """Tell whether its values are given beforehand, so that a wrong one is worth asking for again."""
    return parameter.kind in ("number", "numbers", "flag", "choice", "time")
