"""`--trace`: the events of a turn, as a tree on the screen, one block a turn."""

import time
from collections import Counter
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from agents import events
from agents.events.views import View
from agents.models import FREE
from app.presentation.texts import one_line

LONGEST_LINE = 160


class TraceTree:
    """Gathers the events of a turn and shows them as a tree once the turn is over.

    Each speaker and each observer has a branch. After a handoff there are new branches.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._tree = Tree("")
        self._is_empty = True
        self._turn = 0
        self._began = 0.0
        self._branches: dict[str, Tree] = {}
        self._running: dict[str, tuple[Tree, float]] = {}
        self._tokens = Counter[str]()

    def show(self, event: events.Event) -> None:
        """Take one event in; at the turn's end, print the tree."""
        if self._is_empty:
            self._is_empty = False
            self._began = self._clock()
            self._turn = event.turn
        match event:
            case events.ModelStart(speaker=who, model=model):
                self._start(f"{who} {model}", who, f"asks {model} …")
            case events.ModelThinking(speaker=who):
                self._leaf(who, "thinks")
            case events.ModelEnd(speaker=who, model=model):
                self._tokens.update(_tokens(event))
                self._finish(f"{who} {model}", who, _model_call(event))
            case events.ToolStart(speaker=who, tool=tool, id=call):
                self._start(f"{who} {call or tool}", who, f"calls {tool} …")
            case events.ToolEnd(speaker=who, tool=tool, id=call):
                text = str(event).removeprefix(f"{who}.")
                self._finish(f"{who} {call or tool}", who, f"{text} · {event.ms} ms")
            case events.SearchStep():
                self._search(event)
            case events.Observed(observer=who, by=by):
                # The observer's model calls have this name, too: it may equal the name of a speaker.
                self._leaf(f"{who} observer" if by == "observer" else who, _verdict(event))
            case _:
                self._trunk(event)

    def close(self) -> None:
        """Print the events of a turn that did not end."""
        if not self._is_empty:
            self._print("not ended")

    def _trunk(self, event: events.Event) -> None:
        match event:
            case events.TurnStart() | events.DialogChanged() | events.Interrupt() | View():
                self._node(str(event))
            case events.Sources() | events.Images():
                self._node(str(event))
            case events.Message(speaker=who):
                self._leaf(who, f"says: {event.text}{' ^C' if event.interrupted else ''}")
            case events.Handover(brief=brief):
                self._node(f"{event}{f' · {brief}' if brief else ''}")
                self._branches.clear()
            case events.Error():
                self._node(str(event), "red")
            case events.TurnEnd():
                calls = f"{event.model_calls} model call{'' if event.model_calls == 1 else 's'}"
                spent = [_spent(self._tokens)] if any(self._tokens.values()) else []
                self._print(f"{event.ms / 1000:.2f} s", calls, *spent, f"{event.dialog or 'supervisor'} listens")

    def _search(self, event: events.SearchStep) -> None:
        text = f"{event.step}: {event.detail} · {event.ms} ms"
        key = f"{event.speaker} {event.id}"
        if key in self._running:
            self._running[key][0].add(self._line(text))
        else:
            self._leaf(event.speaker, text)

    def _leaf(self, who: str, text: str, at: float | None = None) -> Tree:
        if who not in self._branches:
            self._branches[who] = self._tree.add(Text(one_line(who, LONGEST_LINE), "cyan"))
        return self._branches[who].add(self._line(text, at=at))

    def _node(self, text: str, style: str = "") -> Tree:
        return self._tree.add(self._line(text, style))

    def _start(self, key: str, who: str, text: str) -> None:
        began = self._clock()
        self._running[key] = (self._leaf(who, text, at=began), began)

    def _finish(self, key: str, who: str, text: str) -> None:
        if key in self._running:
            leaf, began = self._running.pop(key)
            leaf.label = self._line(text, at=began)
        else:
            self._leaf(who, text)

    def _line(self, text: str, style: str = "", at: float | None = None) -> Text:
        since = (self._clock() if at is None else at) - self._began
        return Text.assemble((f"{since:+.2f} s  ", "dim"), (one_line(text, LONGEST_LINE), style))

    def _print(self, *facts: str) -> None:
        self._tree.label = Text(" · ".join([f"turn {self._turn}", *facts]), "bold")
        self._console.print(self._tree)
        self._console.print()
        self._begin()


def _model_call(event: events.ModelEnd) -> str:
    tokens = _tokens(event)
    spent = f" · {_spent(tokens)}" if tokens else ""
    outcome = "" if event.ok else " · failed or thrown away"
    return f"asks {event.model} · {event.ms / 1000:.2f} s{spent}{outcome}"


def _tokens(event: events.ModelEnd) -> Mapping[str, int]:
    """Return the tokens of a call, empty for a model that costs nothing."""
    if event.model.startswith(FREE):
        return {}
    return {"in": event.input_tokens, "cached": event.cached_tokens, "out": event.output_tokens}


def _verdict(event: events.Observed) -> str:
    target = f" -> {event.target}" if event.target else ""
    reason = f" · {event.reason}" if event.reason else ""
    return f"{event.verdict}{target} ({event.by}){reason}"


def _spent(tokens: Mapping[str, int]) -> str:
    cached = f" ({tokens['cached']} cached)" if tokens["cached"] else ""
    return f"{tokens['in']} tokens in{cached}, {tokens['out']} out"
