"""From wishes to tool calls: fill the slots, look up what a name refers to, ask for what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.rules.parts import PROTOCOL, Call, results
from agents.rules.patterns import Match, first_match
from agents.rules.references import entries, plain_number, refer
from agents.rules.scene import Situation
from agents.rules.slots import Parameter, clean, items, named, vague
from agents.rules.wording import asking, sentence


class NeedsListing(Exception):
    """A name can only be understood with the list at hand, and the conversation does not hold it."""


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


@dataclass(frozen=True)
class Filler:
    """Fills a tool's arguments in one situation."""

    now: Situation
    listing: Mapping[int, str] | None
    latest: int | None = None

    def add(self, plan: Plan, tool: str, raw: Mapping[str, str], known: Mapping[str, Any] | None = None) -> None:
        """Add a tool's calls to the plan, or the question for what is missing."""
        wanted = self.now.tools.get(tool, {})
        args = dict(known or {})
        for name, parameter in wanted.items():
            if name not in raw or self._says_nothing(parameter, raw[name]):
                continue
            try:
                args[name] = self.value(parameter, raw[name])
            except Unclear as unclear:
                plan.remarks.append(str(unclear))
                if _choosable(parameter) and not plan.calls:
                    plan.asks = {"tool": tool, "slot": name, "args": args}
                return
        if missing := _missing(wanted, args):
            plan.asks = {"tool": tool, "slot": missing, "args": args}
            plan.remarks.append(asking(missing, self.now.lang))
            return
        for call in _spread(tool, wanted, args):
            _merge(plan, call)

    def value(self, parameter: Parameter, raw: str) -> Any:
        """Return the typed value of raw words.

        Raises:
            NeedsListing: the words name an entry of a list that is not known yet.
            Unclear: no value can be told from the words.
        """
        words = self.now.words
        if parameter.kind in ("flag", "choice"):
            value = named(raw, parameter.name, words)
            if value is None:
                raise Unclear(asking(parameter.name, self.now.lang))
            return value
        if parameter.kind in ("number", "numbers"):
            return self._numbers(raw)
        return items(raw, words) if parameter.kind == "texts" else clean(raw, words)

    def _says_nothing(self, parameter: Parameter, raw: str) -> bool:
        words = self.now.words
        points = parameter.kind in ("number", "numbers") and words.means(raw, "references.it")
        return vague(raw, words) and not points

    def _numbers(self, raw: str) -> list[int]:
        words, lang = self.now.words, self.now.lang
        if self.listing is None:
            plain = [plain_number(piece, words) for piece in items(raw, words)]
            if not plain or any(number is None or number < 1 for number in plain):
                raise NeedsListing
            return [number for number in plain if number is not None]
        if not self.listing:
            raise Unclear(sentence("empty", lang))
        found = refer(raw, self.listing, words, self.latest)
        shown = "\n".join(f"{number}. {entry}" for number, entry in self.listing.items())
        if found.choices:
            near = "\n".join(f"{number}. {self.listing[number]}" for number in found.choices)
            raise Unclear(sentence("which_of", lang, list=near))
        if found.unknown:
            raise Unclear(sentence("not_on_list", lang, name=", ".join(found.unknown), list=shown))
        return list(found.numbers)


def lookup(now: Situation) -> str | None:
    """Return the tool that lists what numbers refer to: by convention `list_…`, without parameters."""
    return next((name for name, wanted in now.tools.items() if name.startswith("list") and not wanted), None)


def listing(now: Situation) -> dict[int, str] | None:
    """Return the list as it stood before this turn changed anything; None if it is not known."""
    reading = lookup(now)
    for result in now.results:
        if result.call.name == reading and not result.failed:
            return entries(result.text)
    for result in reversed(results(now.before)):
        if not result.failed and result.call.name in now.tools and result.call.name not in PROTOCOL:
            return entries(result.text) or ({} if result.call.name == reading else None)
    return None


def latest(now: Situation) -> int | None:
    """Return the entry that "it" means: the one last changed, or the last one if something was just added."""
    for result in reversed(results(now.before)):
        wanted = now.tools.get(result.call.name, {})
        for name, value in result.call.args.items():
            if name in wanted and wanted[name].kind == "number" and isinstance(value, int):
                return value
            if name in wanted and wanted[name].kind == "texts":
                return max(entries(result.text), default=None)
    return None


def correction(now: Situation) -> tuple[str, dict[str, str]] | None:
    """Return the tool that changes an entry and its raw arguments, if the text corrects one ("not X but Y")."""
    changer = next((name for name, wanted in now.tools.items() if _changes_entry(wanted)), None)
    if changer is None:
        return None
    wanted = now.tools[changer]
    number = next(name for name, entry in wanted.items() if entry.kind == "number")
    text = next(name for name, entry in wanted.items() if entry.kind == "text")
    lang = now.words.lang
    if found := first_match("edits.replace", now.heard, lang):
        return changer, {number: found["old"], text: found["new"]}
    place = latest(now)
    if place and (found := first_match("edits.again", now.heard, lang)):
        return changer, {number: str(place), text: found["new"]}
    return None


def _changes_entry(wanted: Mapping[str, Parameter]) -> bool:
    kinds = [parameter.kind for parameter in wanted.values()]
    return kinds.count("number") == 1 and kinds.count("text") == 1


def _missing(wanted: Mapping[str, Parameter], args: Mapping[str, Any]) -> str | None:
    """Return the first parameter to ask for; a call that leaves out everything optional would do nothing."""
    needed = [name for name, parameter in wanted.items() if parameter.required]
    if absent := next((name for name in needed if args.get(name) in (None, [], "")), None):
        return absent
    spare = [name for name, parameter in wanted.items() if not parameter.required and parameter.optional]
    return spare[0] if spare and not any(name in args for name in spare) else None


def _spread(tool: str, wanted: Mapping[str, Parameter], args: dict[str, Any]) -> list[Call]:
    """Make one call for each number where a tool takes one and the user meant several."""
    single = next((name for name, entry in wanted.items() if entry.kind == "number"), None)
    if single is None or not isinstance(args.get(single), list):
        return [Call(tool, args)]
    return [Call(tool, {**args, single: number}) for number in args[single]]


def _merge(plan: Plan, call: Call) -> None:
    """Add a call; lists for the same tool become one list."""
    for place, other in enumerate(plan.calls):
        if other.name == call.name and call.args and all(isinstance(value, list) for value in call.args.values()):
            both = {name: [*other.args.get(name, []), *value] for name, value in call.args.items()}
            plan.calls[place] = Call(call.name, {name: list(dict.fromkeys(value)) for name, value in both.items()})
            return
    if call.key not in {other.key for other in plan.calls}:
        plan.calls.append(call)


def _choosable(parameter: Parameter) -> bool:
    return parameter.kind in ("number", "numbers", "flag", "choice")
