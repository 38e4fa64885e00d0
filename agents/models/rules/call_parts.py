"""What makes a whole call of a tool's arguments: what is missing, how many calls it takes, which go together."""

from collections.abc import Mapping
from typing import Any

from agents.models.rules.types import Call
from agents.models.rules.values import Parameter


def missing_of(wanted: Mapping[str, Parameter], args: Mapping[str, Any]) -> str | None:
    """Return the first parameter to ask for; a call that leaves out everything optional would do nothing."""
    needed = [name for name, parameter in wanted.items() if parameter.required]
    if absent := next((name for name in needed if args.get(name) in (None, [], "")), None):
        return absent
    spare = [name for name, parameter in wanted.items() if not parameter.required and parameter.optional]
    if any(wanted[name].kind not in ("number", "numbers") for name in needed):
        return None
    return spare[0] if spare and not any(name in args for name in spare) else None


def spread(tool: str, wanted: Mapping[str, Parameter], args: dict[str, Any]) -> list[Call]:
    """Make one call for each number where a tool takes one and the user meant several."""
    single = next((name for name, entry in wanted.items() if entry.kind == "number"), None)
    if single is None or not isinstance(args.get(single), list):
        return [Call(tool, args)]
    return [Call(tool, {**args, single: number}) for number in args[single]]


def merge(calls: list[Call], call: Call) -> None:
    """Add a call to others; lists for the same tool become one list."""
    for place, other in enumerate(calls):
        if other.name == call.name and call.args and all(isinstance(value, list) for value in call.args.values()):
            both = {name: [*other.args.get(name, []), *value] for name, value in call.args.items()}
            calls[place] = Call(call.name, {name: list(dict.fromkeys(value)) for name, value in both.items()})
            return
    if call.key not in {other.key for other in calls}:
        calls.append(call)


def is_choosable(parameter: Parameter) -> bool:
    """Tell whether its values are given beforehand, so that a wrong one is worth asking for again."""
    return parameter.kind in ("number", "numbers", "flag", "choice", "time")
