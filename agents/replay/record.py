"""What is kept of a turn so that it can be played again: the models' replies and the trace, in their order.

What was said stands in the transcript and is not kept twice. A step is a short JSON list: `["reply", role, calls]`
with the text behind it where it was not said as it is; `["lost", role]` for a draft that was thrown away;
`["trouble", role, what]`; `["said"]`, or `["shown"]` where a view or a question stands for what was said;
`["tool", speaker, tool, args, ok, object]`; `["view", body]`, a document's without its text; `["line", line]` for
any other line of the trace.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.events import RETRY, Error, Event, Message, ToolEnd
from agents.events.models import ModelStart, Replied
from agents.events.trace import trace
from agents.events.views import Document, View, read_view
from agents.help import ASKING

Step = list[Any]
SAID = ("said", "shown")
LARGEST = 16_000
"""Characters a turn's record may have; of a larger one is only kept that it was too large."""
LARGEST_VIEW = 4_000


class Recording:
    """Take the events of a run down, as they come."""

    def __init__(self) -> None:
        self._lang, self._resumed = "", False
        self._steps: list[Step] = []
        self._asked: dict[str, Step] = {}
        """By speaker, the step of an ask that still waits for its reply."""
        self._replies: dict[str, Step] = {}
        """By speaker, the step of its last reply."""

    def begin(self, lang: str, *, resumed: bool) -> None:
        """Note the language of the turn, and whether an earlier run has played its beginning."""
        self._lang, self._resumed = lang, resumed

    def note(self, event: Event) -> None:
        """Take one event down."""
        match event:
            case ModelStart(speaker=who) if who == ASKING:
                # What it says stands in the answer of the tool that asks for help.
                pass
            case ModelStart(speaker=who) if who not in self._asked:
                # Asks that run side by side end in any order; a script is read in the order they began.
                self._asked[who] = ["lost", who]
                self._steps.append(self._asked[who])
            case Replied():
                step = self._asked.pop(event.speaker, [])
                step[:] = self._reply(event)
                self._replies[event.speaker] = step
            case Message(speaker=who, text=text, shown=shown):
                self._steps.append(["shown" if shown else "said"])
                if self._replies.get(who, [])[-1:] == [text]:
                    self._replies.pop(who).pop()
            case ToolEnd():
                answer = [event.ok, event.object]
                self._steps.append(["tool", event.speaker, event.tool, dict(event.args), *answer])
            case View():
                self._steps.append(_view(event))
            case Error(code=code) if code == RETRY:
                # Only the reply that counted is played again.
                pass
            case _:
                self._steps += [["line", line] for line in [trace([event])] if line]

    def text(self, status: str) -> str:
        """Return the record as it is stored."""
        whole = {"lang": self._lang, "status": status, "steps": self._steps}
        text = _json({**whole, "resumed": True} if self._resumed else whole)
        return text if len(text) <= LARGEST else _json({**whole, "status": "large", "steps": []})

    def _reply(self, event: Replied) -> Step:
        if event.trouble:
            return ["trouble", event.role, event.trouble]
        if event.text is None:
            return ["lost", event.role]
        return ["reply", event.role, [[tool, dict(args)] for tool, args in event.calls], event.text]


@dataclass(frozen=True)
class Record:
    """A turn that was held: what the user said, in which language, and what happened then.

    `status` is that of the message ("done", "failed", "interrupted"), or "large", or "" where nothing was recorded.
    `steps` are as above, but with every text in its place: `["reply", role, calls, text]`, `["said", speaker, text]`.
    """

    text: str | None
    lang: str = ""
    status: str = ""
    steps: Sequence[Step] = ()

    @property
    def is_playable(self) -> bool:
        """Whether the turn can be played again: known from its beginning to its end, and not stopped by the user."""
        return self.status in ("done", "failed")

    @property
    def trace(self) -> str:
        """The lines of the trace, but for the user's."""
        return "\n".join(line for step in self.steps for line in _line(step))


def read_record(text: str | None, stored: str, said: Sequence[tuple[str, str]]) -> Record:
    """Return a turn from what is stored: the user's text, a line for each run, and what was said by whom.

    A message that was taken up again where a failure left it is one turn, as if the failure had not been.
    """
    lang, status, steps = "", "", list[Step]()
    for run in filter(None, stored.split("\n")):
        parts = json.loads(run)
        resumed = bool(parts.get("resumed"))
        if resumed and status != "failed":
            # Its beginning was lost with the process that played it.
            return Record(text)
        lang = lang if resumed else str(parts["lang"])
        steps = [*(_unbroken(steps) if resumed else []), *parts["steps"]]
        status = parts["status"]
    if status == "large" or len(said) != sum(step[0] in SAID for step in steps):
        return Record(text, status="large" if status == "large" else "")
    return Record(text, lang, status, _whole(steps, said))


def _whole(steps: Sequence[Step], said: Sequence[tuple[str, str]]) -> list[Step]:
    """Return the steps with the texts that were said."""
    coming = list(said)
    whole: list[Step] = []
    for step in steps:
        match step:
            case ["said" | "shown" as kind]:
                whole.append([kind, *coming.pop(0)])
            case ["reply", role, calls]:
                whole.append(["reply", role, calls, next(text for speaker, text in coming if speaker == role)])
            case _:
                whole.append(step)
    return whole


def _view(view: View) -> Step:
    """Return the step of a view; only the line of a large one, which then cannot be given again."""
    body = view.body() | ({"content": ""} if isinstance(view, Document) else {})
    return ["view", body] if len(_json(body)) <= LARGEST_VIEW else ["line", str(view)]


def _line(step: Step) -> list[str]:
    match step:
        case ["said", speaker, text]:
            return [str(Message(speaker=speaker, text=text))]
        case ["tool", speaker, tool, args, ok, answer]:
            return [str(ToolEnd(speaker=speaker, tool=tool, args=args, ok=ok, object=answer))]
        case ["view", body]:
            return [str(read_view(body))]
        case ["line", line]:
            return [line]
    return []


def _unbroken(steps: Sequence[Step]) -> list[Step]:
    """Return the steps without the failure that ended them."""
    failed = [step for step in steps if step[0] == "trouble"][-1:]
    return [step for step in steps if step not in failed and not (step[0] == "line" and step[1].startswith("error "))]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
