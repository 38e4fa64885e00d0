"""Play a recorded conversation again, on a database of its own, with the recorded replies as the script."""

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.errors import ModelUnavailable, Trouble
from agents.events.views import Notice
from agents.models.script import Call, Line, Script
from agents.state import SUPERVISOR
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from app.assistant import Turn
from app.composition import discover, open_assistant
from app.logs import silence
from app.recording.record import Answered, Failed, Lost, Record, Replied, Step, Viewed
from app.recording.recorded_tools import Answer, with_answers, with_strangers
from app.settings import Settings

THREAD = "rehearsal"
THROWN_AWAY = "(a draft that was thrown away)"


@dataclass(frozen=True)
class Play:
    """Turns that can be played again: they lead to the same trace with these replies and these answers of tools."""

    turns: Sequence[Record]
    answers: Mapping[str, Sequence[Answer]]
    strangers: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """By speaker, the tools of services and servers that were called, with their parameters."""
    direct_switch: bool = True
    """Whether a dialog that is plainly meant takes over without a call of the supervisor's model."""

    @property
    def replies(self) -> dict[str, list[Line]]:
        """Return what each role says, in its order."""
        lines: defaultdict[str, list[Line]] = defaultdict(list)
        for step in (step for turn in self.turns for step in turn.steps):
            match step:
                case Replied(role, calls, text):
                    parts: list[str | Call] = [text] if text.strip() else []
                    parts += [Call(tool, args) for tool, args in calls]
                    lines[role].append(parts[0] if len(parts) == 1 else parts)
                case Lost(role):
                    lines[role].append(THROWN_AWAY)
                case Failed(role, trouble):
                    lines[role].append(Unavailable(trouble))
        return dict(lines)


class Unavailable(ModelUnavailable):
    """In a script: no model answers."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble, "script")

    def __repr__(self) -> str:
        """Return it as Python source."""
        return f"ModelUnavailable({self.trouble!r}, 'script')"


async def rehearse(turns: Sequence[Record]) -> Play:
    """Return the turns, from the first on, that lead to the same trace when they are played again.

    Tools that tell of the world outside, and those that answered differently this time, give their recorded
    answers. Where the supervisor's model was asked who takes over, it is asked again.
    """
    playable = list(turns[: next((place for place, turn in enumerate(turns) if not turn.is_playable), len(turns))])
    play = await _rehearse(playable, direct_switch=True)
    if len(play.turns) == len(playable):
        return play
    return max(play, await _rehearse(playable, direct_switch=False), key=lambda each: len(each.turns))


async def _rehearse(playable: Sequence[Record], *, direct_switch: bool) -> Play:
    speakers, _ = discover()
    strangers = _strangers(playable, speakers)
    volatile = {tool.name for speaker in speakers for tool in speaker.tools if traits_of(tool).volatile}
    volatile |= {tool for tools in strangers.values() for tool in tools}
    play = Play(playable, _answers(playable, volatile), strangers, direct_switch)
    again = await _perform(play)
    if differing := _differing(playable, again) - volatile:
        play = replace(play, answers=_answers(playable, volatile | differing))
        again = await _perform(play)
    pairs = zip(playable, again, strict=True)
    same = next((place for place, (then, now) in enumerate(pairs) if then.trace != now.trace), len(playable))
    covered = playable[:same]
    return Play(covered, _answers(covered, set(play.answers)), _strangers(covered, speakers), direct_switch)


async def _perform(play: Play) -> list[Record]:
    """Return the turns as they went this time."""
    speakers, _ = discover()
    speakers = with_answers(with_strangers(speakers, play.strangers), play.answers)
    models = Script(play.replies).models([SUPERVISOR, "observer", *speakers.dialogs])
    with tempfile.TemporaryDirectory() as folder, silence():
        # A test knows nothing of the settings of this installation.
        settings = Settings.model_construct(
            database_url=f"sqlite:///{Path(folder) / 'rehearsal.db'}", direct_switch=play.direct_switch
        )
        async with open_assistant(settings, models=models, remote=False, speakers=speakers) as assistant:
            for turn in play.turns:
                async for _ in assistant.play(Turn(thread=THREAD, text=turn.text, lang=turn.lang)):
                    pass
            return await assistant.records(THREAD)


def _strangers(turns: Sequence[Record], speakers: Speakers) -> dict[str, dict[str, list[str]]]:
    """Return the tools that answered and are not here, with the parameters that they were given."""
    strangers: dict[str, dict[str, list[str]]] = {}
    for step in _tool_steps(turns):
        if not step.ok or step.speaker not in {SUPERVISOR, *speakers.dialogs}:
            continue
        if all(step.tool != tool.name for tool in bound_tools(speakers[step.speaker], speakers)):
            names = strangers.setdefault(step.speaker, {}).setdefault(step.tool, [])
            names += [name for name in step.args if name not in names]
    return strangers


def _answers(turns: Sequence[Record], tools: set[str]) -> dict[str, list[Answer]]:
    """Return what these tools answered, by tool; what failed is left to fail again."""
    answers: defaultdict[str, list[Answer]] = defaultdict(list)
    for turn in turns:
        views = _views(turn.steps)
        for place, step in enumerate(turn.steps):
            if isinstance(step, Answered) and step.ok and step.tool in tools:
                view = views.get(place, {})
                answer: Answer = (step.object, view, step.findings) if step.findings else (step.object, view)
                answers[step.tool].append(answer if view or step.findings else step.object)
    return dict(answers)


def _views(steps: Sequence[Step]) -> dict[int, dict[str, Any]]:
    """Return the views by the place of the step in which a tool gave each.

    A notice is shown at once; what stands for the answer was given by the last call of a reply.
    """
    views: dict[int, dict[str, Any]] = {}
    last: dict[str, int] = {}
    giver = ""
    for place, step in enumerate(steps):
        match step:
            case Replied(_, [*_, (tool, _)], _):
                giver = tool
            case Answered(tool=tool):
                last[tool] = last[""] = place
            case Viewed(body):
                by = last.get("" if body["kind"] == Notice.kind else giver)
                views |= {by: body} if by is not None else {}
    return views


def _differing(then: Sequence[Record], now: Sequence[Record]) -> set[str]:
    """Return the tools that answered the same call differently."""
    pairs = zip(_tool_steps(then), _tool_steps(now), strict=False)
    return {old.tool for old, new in pairs if old != new and replace(old, ok=new.ok, object=new.object) == new}


def _tool_steps(turns: Sequence[Record]) -> list[Answered]:
    return [step for turn in turns for step in turn.steps if isinstance(step, Answered)]
