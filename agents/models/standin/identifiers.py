"""Arguments that no words of the user hold, but a tool can get from them: `choose_order` for `order_id`.

By convention `choose_thing` lets the user choose what an identifier `thing_id` or `thing_ids` stands for, and
`ask_thing` lets them fill in what begins with `thing`. What comes back has the argument under its own name.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from agents.models.standin.situation import Situation
from agents.models.standin.types import Call
from agents.models.standin.values import IDENTIFIERS, REFERRING, Parameter, clean

CHOOSE, ASK = "choose_", "ask_"
WORDS = "words"
"""The parameter of such a tool that takes what the user said of the thing."""
_SPELLED = re.compile(r"[#№]?[^\s,;.!?\"«»“”]*\d[^\s,;!?\"«»“”]*[^\s,;.!?\"«»“”]")
"""An identifier as a user writes it: a word of several letters and digits."""


def spelled_out(raw: str) -> str | None:
    """Return the identifier that the words of a user hold; None if they only describe what they mean."""
    word = _SPELLED.search(raw)
    return word[0] if word and len(word[0]) >= 4 else None


def is_getter(tool: str, parameters: Mapping[str, Parameter]) -> bool:
    """Tell whether a tool itself finds out what is meant, so that nothing has to be asked before."""
    return tool.startswith((CHOOSE, ASK)) and all(it.kind not in REFERRING for it in parameters.values())


def getter(now: Situation, parameter: Parameter) -> str | None:
    """Return the tool that gets a parameter's value from the user; None if there is none."""
    kind = CHOOSE if parameter.kind in IDENTIFIERS else ASK
    names = [name for name in now.tools if name.startswith(kind) and parameter.name.startswith(name[len(kind) :])]
    return max(names, key=len, default=None)


def was_got(now: Situation, parameter: Parameter) -> Mapping[str, Any]:
    """Return a parameter with the value that the user has chosen or filled in, and what else they did; maybe empty."""
    name = getter(now, parameter)
    for result in now.results:
        if result.call.name == name and not result.failed and (values := _object(result.text)) is not None:
            if parameter.name.removesuffix("s") in values and parameter.kind == "ids":
                return {parameter.name: [values[parameter.name.removesuffix("s")]]}
            if parameter.name in values:
                # A form that was filled in has more than the one value.
                return values if result.call.name.startswith(ASK) else {parameter.name: values[parameter.name]}
    return {}


def getting(now: Situation, tool: str, name: str, args: Mapping[str, Any], raw: Mapping[str, str]) -> Call:
    """Return the call of a getter that finds out what a call of `tool` still needs."""
    words = next((clean(text, now.words) for text in raw.values() if spelled_out(text) is None), None)
    passed: dict[str, Any] = {}
    for parameter in now.tools[name].values():
        several = args.get(f"{parameter.name}s")
        if parameter.name in args:
            passed[parameter.name] = args[parameter.name]
        elif isinstance(several, list) and several:
            passed[parameter.name] = several[0]
        elif parameter.name == WORDS and words:
            passed[WORDS] = words
        else:
            # `return_delivered_order_items` is about orders that are delivered.
            passed |= dict([(parameter.name, value) for value in parameter.values if value in tool.split("_")][:1])
    return Call(name, passed)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None
