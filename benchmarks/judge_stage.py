"""Play labelled turns through the whole graph, and record the end, the tool calls and the usage of each."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import observers
from agents.conversation.handover import MOST_PAUSED
from agents.events import CUT, RETRY, Error, Event, ModelEnd, ModelStart, ToolStart, TurnEnd
from agents.graph import build_graph
from agents.memory import Memory
from agents.models import Models
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of
from app.assistant import Assistant, Turn
from app.assistant.run import config_of
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.prices import Tokens
from app.settings import Settings
from benchmarks.judge_cases import Case, SwitchCase, Talk, WishCase
from benchmarks.judge_labels import Labels
from benchmarks.judge_speakers import speakers_of
from prompts import languages

OBSERVER = " observer"
"""The suffix of the speaker of an observer's model call, in events."""


@dataclass
class Outcome:
    """The outcome of one labelled turn."""

    case: Case
    wanted: int = 0
    """Number of switches or calls that the label wants."""
    made: int = 0
    """Number of switches or calls made, wrong ones included."""
    right: int = 0
    """Number of switches or calls both made and wanted."""
    got: str = ""
    """The speaker at the end of the turn, or the called tools."""
    observers: int = 0
    """Number of observers' calls; `models` has them, too."""
    deaf: int = 0
    """Number of observers' failed calls; the dialog then goes on as after a vote to stay."""
    models: dict[str, Tokens] = field(default_factory=lambda: defaultdict(Tokens))
    ms: int = 0
    failed: str | None = None
    """The reason of a missing answer: "busy", "key_refused", "unavailable" or another code; else None."""

    @property
    def calls(self) -> int:
        """Return the model calls of the turn, discarded drafts included."""
        return sum(tokens.calls for tokens in self.models.values())

    def plain(self) -> dict[str, object]:
        """Return the outcome as a JSON object."""
        case, models = self.case, {name: asdict(tokens) for name, tokens in self.models.items()}
        about = {"id": case.id, "set": case.set, "kind": case.kind, "lang": case.lang, "text": case.text}
        scores = {"wanted": self.wanted, "made": self.made, "right": self.right}
        took = {"calls": self.calls, "observers": self.observers, "deaf": self.deaf, "models": models, "ms": self.ms}
        return {**about, "expected": case.expected, "got": self.got, **scores, **took, "failed": self.failed}


class Stage:
    """The application around the dialogs and tools of one set."""

    def __init__(self, data: Path, name: str, settings: Settings, memory: Memory, models: Models | Labels) -> None:
        self.data, self.name, self.settings, self.memory, self.models = data, name, settings, memory, models
        self._assistants: dict[tuple[str, ...], tuple[Assistant, Speakers]] = {}

    async def play(self, talk: Talk) -> AsyncIterator[Outcome]:
        """Play the turns of a conversation, one after the other, in one thread."""
        assistant, speakers = self._assistant(tuple(talk.candidates))
        for case in talk.cases:
            if isinstance(self.models, Labels):
                self.models.begin(case, speakers)
            if isinstance(case, SwitchCase):
                await _set_back(assistant, talk.id, case)
            turn = Turn(thread=talk.id, text=case.text, lang=case.lang, id=case.id)
            yield outcome_of(case, [event async for event in assistant.play(turn)], speakers)

    def _assistant(self, candidates: tuple[str, ...]) -> tuple[Assistant, Speakers]:
        """Return the application with these dialogs; each conversation of a set may offer others."""
        if candidates not in self._assistants:
            speakers = speakers_of(self.data, self.name, candidates)
            graph = build_graph(
                speakers,
                observers.discover(languages()),
                saver=self.memory.saver,
                store=self.memory.store,
                direct_switch=self.settings.direct_switch,
            )
            models = self.models.models_of(speakers) if isinstance(self.models, Labels) else self.models
            player = TurnPlayer(graph, Languages("en", tuple(languages())), memory=self.memory, models=models)
            self._assistants[candidates] = Assistant(player, speakers), speakers
        return self._assistants[candidates]


async def _set_back(assistant: Assistant, thread: str, case: SwitchCase) -> None:
    """Set a thread to the state of the recorded conversation, in place of the model's own outcome."""
    paused = [name for name in case.paused if name != case.active][-MOST_PAUSED:]
    talks = {name: {"messages": [*messages], "status": "finished"} for name, messages in case.histories.items()}
    for name in (*paused, case.active):
        talks.setdefault(name, {"messages": []})["status"] = "running" if name == case.active else "paused"
    values = {
        "lang": case.lang,
        "is_active": False,
        "dialog": case.active,
        "paused": paused,
        "talks": talks,
        "listener": None,
        "offer": None,
        "switched": None,
        "wishes": [],
        "pending": [],
        "screen": [],
    }
    await assistant.graph.aupdate_state(config_of(thread), values, as_node="settle")


def outcome_of(case: Case, events: Sequence[Event], speakers: Speakers) -> Outcome:
    """Return the outcome of a turn, from its events."""
    outcome = Outcome(case)
    for event in events:
        match event:
            case ModelStart(speaker=speaker, model=model):
                outcome.models[model].calls += 1
                outcome.observers += speaker.endswith(OBSERVER)
            case ModelEnd(speaker=speaker, model=model):
                taken = Tokens(0, event.input_tokens, event.cached_tokens, event.output_tokens)
                outcome.models[model].add(taken)
                outcome.deaf += not event.ok and speaker.endswith(OBSERVER)
            case Error(code=code) if code not in (RETRY, *CUT):
                outcome.failed = code
            case TurnEnd(ms=ms):
                outcome.ms = ms
    _score(outcome, events, speakers)
    return outcome


def _score(outcome: Outcome, events: Sequence[Event], speakers: Speakers) -> None:
    case = outcome.case
    if isinstance(case, SwitchCase):
        outcome.got = next(event.dialog for event in events if isinstance(event, TurnEnd)) or SUPERVISOR
        outcome.wanted = int(case.label == "switch")
        # After a farewell or small talk the supervisor may hold the conversation; after an answer it may not.
        left = outcome.got != case.active
        outcome.made = int(left and (outcome.got != SUPERVISOR or case.label == "stay"))
        outcome.right = int(outcome.got == case.target)
    elif isinstance(case, WishCase):
        calls = [(event.tool, event.args) for event in events if isinstance(event, ToolStart)]
        met = [want for want in case.wants if any(want.is_met(tool, args) for tool, args in calls)]
        stray = [tool for tool, args in calls if not any(want.is_met(tool, args) for want in case.wants)]
        outcome.got = " ".join(tool for tool, _ in calls)
        outcome.wanted, outcome.right = len(case.wants), len(met)
        outcome.made = len(met) + sum(tool in _counted(speakers) for tool in stray)


def _counted(speakers: Speakers) -> set[str]:
    """Return the tools whose unwanted call is a mistake; a lookup before a write is none."""
    tools = [tool for speaker in speakers for tool in speaker.tools]
    if not speakers.dialogs:
        return {tool.name for tool in tools}
    return {tool.name for tool in tools if traits_of(tool).effect == "write"}
