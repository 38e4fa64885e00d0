"""The script of the strict servers' model: the last line of the newest user message.

    CALL add_todos {"items": ["milk"]} ;; CALL list_todos {} >> SAY done

Steps stand behind `>>`: the next one comes when the results of the last are there. Parts of a reply stand behind `;;`:
CALL, SAY and THINK; CUT ends the reply at its limit of length, REFUSE refuses; BUSY, OVERFLOW, FAIL and BREAK are
trouble, once with each message; SLOW are seconds between two pieces, LONG so many words; WATCH is what a model without
tools answers. Calls of tools that are not offered are left out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

BLOCK = re.compile(r"<(\w+)>.*?</\1>", re.DOTALL)
"""Blocks of the application's own around the user's words."""
SCRIPT = re.compile(r"(CALL|SAY|THINK|CUT|REFUSE|BUSY|OVERFLOW|FAIL|BREAK|SLOW|LONG)\b")
Trouble = Literal["busy", "overflow", "fail", "break"]
NO_SCRIPT = "Done."
THOUGHT = "It is as it is."
"""The reasoning of a model that always reasons."""


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    name: str
    args: Mapping[str, object]

    @property
    def json(self) -> str:
        """The arguments as JSON."""
        return json.dumps(self.args, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """The model's next reply."""

    text: str = ""
    thoughts: str = ""
    calls: Sequence[Call] = ()
    end: Literal["whole", "cut", "refusal"] = "whole"
    trouble: Trouble | None = None
    pause: float = 0

    @property
    def words(self) -> list[str]:
        """The text in the pieces in which it is sent."""
        return re.findall(r"\S+\s*", self.text)


@dataclass
class Script:
    """Chooses replies; remembers the messages with which there was trouble."""

    troubled: set[str] = field(default_factory=set)

    def reply(self, words: str, offered: Sequence[str], called: Sequence[str], *, thinks: bool) -> Reply:
        """Return the reply to the user's words, by a model that has these tools and has called those since then."""
        own = BLOCK.sub("", words).strip()
        line = own.splitlines()[-1] if own else ""
        if not offered:
            watched = re.search(r"WATCH (\w+)", line)
            return Reply(watched[1] if watched else "stay")
        reply = self._step(line, offered, called)
        if reply.trouble and own in self.troubled:
            reply = replace(reply, trouble=None)
        elif reply.trouble:
            self.troubled.add(own)
        return replace(reply, thoughts=reply.thoughts or THOUGHT) if thinks else reply

    @staticmethod
    def _step(line: str, offered: Sequence[str], called: Sequence[str]) -> Reply:
        """Return the first step whose calls have not been made."""
        made = sum(name in offered for name in called)
        for step in line.split(">>") if SCRIPT.match(line) else ():
            reply = _read(step)
            calls = [call for call in reply.calls if call.name in offered]
            if reply.calls and len(calls) <= made:
                made -= len(calls)
            else:
                return replace(reply, calls=calls)
        return Reply(NO_SCRIPT)


def _read(step: str) -> Reply:
    reply = Reply()
    for part in step.split(";;"):
        order, _, rest = part.strip().partition(" ")
        reply = replace(reply, **_taken(reply, order, rest))
    return reply


def _taken(reply: Reply, order: str, rest: str) -> dict[str, Any]:
    """Return the reply of a part of a step."""
    match order:
        case "CALL":
            name, _, args = rest.partition(" ")
            return {"calls": [*reply.calls, Call(name, json.loads(args))]}
        case "SAY":
            return {"text": rest}
        case "THINK":
            return {"thoughts": rest}
        case "LONG":
            return {"text": " ".join(f"word{number}" for number in range(int(rest)))}
        case "SLOW":
            return {"pause": float(rest)}
        case "CUT":
            return {"end": "cut"}
        case "REFUSE":
            return {"end": "refusal", "text": "I cannot help with that."}
        case "BUSY" | "OVERFLOW" | "FAIL" | "BREAK":
            return {"trouble": order.lower()}
        case _:
            raise ValueError(f"no such part of a script: {order}")
