"""Play a recorded conversation again, on a database of its own, with the recorded replies as the script."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.errors import ModelUnavailable, Trouble
from agents.events.views import Notice
from agents.memory import open_memory
from agents.models.script import Call, Line, Script
from agents.replay.record import Record, Step
from agents.replay.recorded_tools import Answer, with_answers, with_strangers
from agents.speaker import Speakers
from agents.state import SUPERVISOR
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.traits import OUTSIDE
from app.assistant import Assistant, Turn
from app.assistant.language import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import discover
from app.graph import build_graph
from app.logs import silence
from prompts import FALLBACK, languages

THREAD = "rehearsal"
THROWN_AWAY = "(a draft that was thrown away)"


@dataclass(frozen=True)
class Play:
    """Turns that can be played again: they lead to the same trace with these replies and these answers of tools."""

    turns: Sequence[Record]
    answers: Mapping[str, Sequence[Answer]]
    strangers: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """By speaker, the tools of services and servers that were called, with their parameters."""

    @property
    def replies(self) -> dict[str, list[Line]]:
        """Return what each role says, in its order."""
        lines: dict[str, list[Line]] = {}
        for step in (step for turn in self.turns for step in turn.steps):
            match step:
                case ["reply", role, calls, text]:
                    parts = [text] if text.strip() else []
                    reply = [*parts, *(Call(tool, args) for tool, args in calls)]
                    lines.setdefault(role, []).append(reply[0] if len(reply) == 1 else reply)
                case ["lost", role]:
                    lines.setdefault(role, []).append(THROWN_AWAY)
                case ["trouble", role, trouble]:
                    lines.setdefault(role, []).append(Unavailable(trouble))
        return lines


class Unavailable(ModelUnavailable):
    """In a script: no model answers."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble, "script")


async def rehearse(turns: Sequence[Record]) -> Play:
    """Return the turns, from the first on, that lead to the same trace when they are played again.

    Tools that tell of the world outside, and those that answered differently this time, give their recorded
    answers.
    """
    playable = list(turns[: next((place for place, turn in enumerate(turns) if not turn.is_playable), len(turns))])
    speakers, _ = discover()
    strangers = _strangers(playable, speakers)
    everyone = (speakers.supervisor, *speakers.dialogs.values())
    volatile = {tool.name for speaker in everyone for tool in speaker.tools if OUTSIDE in (tool.tags or [])}
    volatile |= {tool for tools in strangers.values() for tool in tools}
    play = Play(playable, _answers(playable, volatile), strangers)
    again = await _perform(play)
    if differing := _differing(playable, again) - volatile:
        play = replace(play, answers=_answers(playable, volatile | differing))
        again = await _perform(play)
    pairs = zip(playable, again, strict=True)
    same = next((place for place, (then, now) in enumerate(pairs) if then.trace != now.trace), len(playable))
    covered = playable[:same]
    return Play(covered, _answers(covered, set(play.answers)), _strangers(covered, speakers))


async def _perform(play: Play) -> list[Record]:
    """Return the turns as they went this time."""
    speakers, watching = discover()
    speakers = with_answers(with_strangers(speakers, play.strangers), play.answers)
    script = Script(play.replies)
    with tempfile.TemporaryDirectory() as folder, silence():
        async with open_memory(f"sqlite:///{Path(folder) / 'rehearsal.db'}") as memory:
            graph = build_graph(speakers, watching, saver=memory.saver, store=memory.store)
            models = script.models([SUPERVISOR, "observer", *speakers.dialogs])
            langs = Languages(FALLBACK, tuple(languages()), memory.store)
            assistant = Assistant(TurnPlayer(graph, memory, models, langs), speakers)
            for turn in play.turns:
                async for _ in assistant.play(Turn(thread=THREAD, text=turn.text, lang=turn.lang)):
                    pass
            return await assistant.records(THREAD)


def _strangers(turns: Sequence[Record], speakers: Speakers) -> dict[str, dict[str, list[str]]]:
    """Return the tools that answered and are not here, with the parameters that they were given."""
    strangers: dict[str, dict[str, list[str]]] = {}
    for _, who, tool, args, ok, _ in _tool_steps(turns):
        here = who in {SUPERVISOR, *speakers.dialogs}
        if ok and here and all(tool != own.name for own in bound_tools(speakers[who], speakers)):
            names = strangers.setdefault(who, {}).setdefault(tool, [])
            names += [name for name in args if name not in names]
    return strangers


def _answers(turns: Sequence[Record], tools: set[str]) -> dict[str, list[Answer]]:
    """Return what these tools answered, by tool; what failed is left to fail again."""
    answers: dict[str, list[Answer]] = {}
    for turn in turns:
        views = _views(turn.steps)
        for place, step in enumerate(turn.steps):
            match step:
                case ["tool", _, tool, _, True, answer] if tool in tools:
                    answers.setdefault(tool, []).append((answer, views[place]) if place in views else answer)
    return answers


def _views(steps: Sequence[Step]) -> dict[int, dict[str, Any]]:
    """Return the views by the place of the step in which a tool gave each.

    A notice is shown at once; what stands for the answer was given by the last call of a reply.
    """
    views: dict[int, dict[str, Any]] = {}
    last: dict[str, int] = {}
    giver = ""
    for place, step in enumerate(steps):
        match step:
            case ["reply", _, [*_, [tool, _]], _]:
                giver = tool
            case ["tool", _, tool, *_]:
                last[tool] = last[""] = place
            case ["view", body]:
                by = last.get("" if body["kind"] == Notice.kind else giver)
                views |= {by: body} if by is not None else {}
    return views


def _differing(then: Sequence[Record], now: Sequence[Record]) -> set[str]:
    """Return the tools that answered the same call differently."""
    pairs = zip(_tool_steps(then), _tool_steps(now), strict=False)
    return {str(old[2]) for old, new in pairs if old[:4] == new[:4] and old[4:] != new[4:]}


def _tool_steps(turns: Sequence[Record]) -> list[Step]:
    return [step for turn in turns for step in turn.steps if step[0] == "tool"]
