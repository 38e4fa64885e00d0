"""The tools of conversation tests: a user before a scripted assistant, and the trace of their turns."""

import textwrap
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import prompts
from agents.conversation.gate import Gate
from agents.events import Event, trace
from agents.graph import build_graph
from agents.memory import Memory
from agents.models import Models
from agents.state.limits import Limits
from agents.toolkit.help import HelpChain
from agents.toolkit.services import Services
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.assistant.recorded_tools import Answer, with_absent_tools, with_answers
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import discover, hooked, open_services, plugins_found, tables_of, tool_hooks, turn_hooks
from app.composition.help_chain import make_help
from app.databases import backend_of
from app.settings import Settings
from app.testing.kept_replies import KeptReplies
from app.testing.script import Line, Script
from app.testing.untrained_gate import untrained_gate
from observers import Observer


class Chat:
    """A thread in a real database, with a script behind the graph."""

    def __init__(self, path: Path, url: str | None = None) -> None:
        self.path, self.script = path, Script()
        self.url = url
        """The address of the database; empty: `path` is its file."""
        self.speakers, self.observers = discover()
        self.gate: Gate | None = untrained_gate
        self.settings = Settings(_env_file=None)
        self.permissions: Mapping[str, frozenset[str]] = {}
        self.limits = Limits()
        self.services: list[object] = []
        """Services and settings in place of those of the plug-ins and dialogs."""
        self.now: Callable[[], float] = time.time
        """The Unix time in seconds."""
        self.models: Models | None = None
        """Models in place of the script."""
        self.events: list[Event] = []

    def as_shipped(self) -> None:
        """Let the application's own gate decide on the calls of observers, as in a real conversation."""
        self.gate = None

    def expects(self, **lines: list[Line]) -> None:
        """Append the replies of each role to the script."""
        self.script.add(**lines)

    def finds(self, **answers: list[Answer]) -> None:
        """Let tools give these recorded answers, with views, in place of their own."""
        self.speakers = with_answers(self.speakers, answers)

    def borrows(self, **absent: dict[str, list[str]]) -> None:
        """Give speakers tools that do not exist here, by name and parameters; `finds` has their answers."""
        self.speakers = with_absent_tools(self.speakers, absent)

    async def says(self, *texts: str | None, thread: str = "ann", lang: str | None = None, **more: Any) -> str:
        """Let the user say something, each text in a turn of its own; return the trace of all turns.

        `more` are further fields of a Turn, such as the user or the id.
        """
        self.events = []
        async with self.assistant() as assistant:
            for text in texts:
                turn = Turn(thread=thread, text=text, lang=lang, **more)
                self.events += [event async for event in assistant.play(turn)]
            # This holds in every test: a user has seen each reply that a history keeps.
            replies = KeptReplies()
            await replies.take(assistant, thread)
            assert replies.unseen == set()
        return trace(self.events)

    @asynccontextmanager
    async def assistant(self) -> AsyncIterator[Assistant]:
        """Open the database anew, as a fresh process would."""
        async with (
            backend_of(self.url or f"sqlite:///{self.path}").open(
                self.now, tables=tables_of(plugins_found())
            ) as memory,
            open_services(plugins_found(), memory, self.settings, *self.services) as services,
        ):
            help = make_help(self.settings, memory.notes, services, plugins_found())
            options: dict[str, Any] = {"gate": self.gate, "help": help, "permissions": self.permissions}
            options |= {"direct_switch": self.settings.direct_switch, "limits": self.limits}
            options |= {"services": services, "models": self.models}
            yield compose(memory, self.script, self.speakers, self.observers, **options)

    async def state(self, thread: str = "ann") -> dict[str, Any]:
        """Return the state of the thread."""
        async with self.assistant() as assistant:
            return await assistant.state(thread) or {}

    async def messages(self, speaker: str, thread: str = "ann") -> list[Any]:
        """Return a speaker's history."""
        async with self.assistant() as assistant:
            snapshot = await assistant.graph.aget_state({"configurable": {"thread_id": thread}})
            return list(snapshot.values["talks"][speaker]["messages"])

    async def notes(self) -> list[tuple[str, str]]:
        """Return the notes to people: thread and text of each."""
        async with self.assistant() as assistant:
            return [(note.thread, note.text) for note in await assistant.memory.notes.all()]


def compose(
    memory: Memory,
    script: Script,
    speakers: Speakers,
    observers: Mapping[str, Observer],
    *,
    gate: Gate | None = untrained_gate,
    help: HelpChain | None = None,
    permissions: Mapping[str, frozenset[str]] | None = None,
    limits: Limits | None = None,
    direct_switch: bool = True,
    services: Services | None = None,
    models: Models | None = None,
) -> Assistant:
    """Put an assistant together whose models play a script, unless `models` replaces them."""
    # Hooks find their parts among the services.
    plug_ins = plugins_found() if services else {}
    graph = build_graph(
        speakers,
        observers,
        saver=memory.saver,
        store=memory.store,
        gate=gate,
        direct_switch=direct_switch,
        around_tool_call=tool_hooks(plug_ins),
    )
    models = hooked(models or script.models(["supervisor", "observer", *speakers.dialogs]), plug_ins)
    languages = Languages(prompts.FALLBACK, tuple(prompts.languages()))
    player = TurnPlayer(
        graph,
        languages,
        memory=memory,
        models=models,
        help=help or HelpChain(),
        permissions=permissions or {},
        limits=limits or Limits(),
        services=services or Services(),
        around_turn=turn_hooks(plug_ins),
    )
    return Assistant(player, speakers)


def told(text: str) -> str:
    """Return a test's trace without its indentation."""
    return textwrap.dedent(text).strip()
