"""A door's conversation with one form of a provider; each function here runs in a fresh process of its own.

A process's lessons about a provider must not help the next measurement. So `benchmarks.providers` calls these
functions in processes that end afterwards.
"""

import asyncio
import io
import logging
import os
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
from langchain_core.messages.content import create_image_block

from agents.errors import ConfigError
from agents.events import CUT, RETRY, Error, Event, Handover, Interrupt, Message, Token, ToolEnd
from agents.sources.attachments import Contents
from agents.state.person import Origin, Quoted
from app.assistant import Assistant, Turn
from app.cli.command_line import main as command_line
from app.composition import open_assistant
from app.settings import read_settings
from benchmarks.provider_forms import KEY, ProviderForm, Said, conversation, long_end
from benchmarks.provider_journal import Journal, Request

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one point."""
DATABASE = Path("talk.db")
"""The database of a talk in its folder, with the trained rankers of tools beside it."""
LONGEST_TURN = 120.0
"""Seconds for a turn with all its retries."""
PLACES = ("image_url", "input_image", '"image"', "inlineData", '"images"')
"""The forms' names of a picture."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a turn."""

    name: str
    fault: str
    """The fault of the turn; empty: none."""
    requests: Sequence[Request]
    doubled: int = 0
    """Number of writes beyond the model's own calls."""

    @property
    def refusals(self) -> list[Request]:
        """The requests that the server refused because of their form; busy servers and overflows do not count."""
        return [request for request in self.requests if request.verdict == "refused"]


@dataclass(frozen=True)
class Setup:
    """The outcome of `setup --yes`."""

    code: int
    printed: str
    requests: Sequence[Request] = ()


@dataclass
class Talks:
    """One process's conversations with a form."""

    first: Sequence[Outcome]
    second: Sequence[Outcome] = field(default_factory=list)


def talk_twice(form: ProviderForm, url: str, folder: Path, long: int) -> Talks:
    """Play the whole conversation, and a second one in the same process."""
    _enter(folder, {**form.environment(url), **form.model_settings(url)})
    return asyncio.run(_talk(form, url, [[*conversation(), *long_end(long)], conversation()]))


def talk_over_env(form: ProviderForm, url: str, folder: Path) -> Talks:
    """Play the conversation with the model and the parameters of the `.env` in this folder."""
    settings = {name: value for name, value in form.environment(url).items() if name != "LLM_PARAMETERS"}
    _enter(folder, settings)
    return asyncio.run(_talk(form, url, [conversation()]))


def set_up(form: ProviderForm, url: str, folder: Path) -> Setup:
    """Run `setup --yes` in this folder."""
    _enter(folder, {**form.environment(url), "OPENAI_API_KEY": KEY})
    address = form.address(url)
    arguments = ["setup", "--yes", "--model", form.model, *(["--base-url", address] if address else [])]
    before = len(asyncio.run(_noted(url)))
    with redirect_stdout(io.StringIO()) as printed:
        code = command_line(arguments)
    return Setup(code, printed.getvalue(), asyncio.run(_noted(url))[before:])


async def _noted(url: str) -> Sequence[Request]:
    """Return all requests of the servers' journals."""
    async with httpx.AsyncClient(timeout=60) as client:
        return await Journal(url, client).new()


def _enter(folder: Path, settings: dict[str, str]) -> None:
    logging.disable(logging.CRITICAL)
    os.chdir(folder)
    # A provider that refuses every turn must refuse the last one, too.
    database = f"sqlite:///{folder / DATABASE}"
    os.environ.update({**settings, "DATABASE_URL": database, "MODEL_FAILURES": "0", "TURNS_PER_HOUR": "0"})


async def _talk(form: ProviderForm, url: str, conversations: Sequence[Sequence[Said]]) -> Talks:
    async with httpx.AsyncClient(timeout=60) as client:
        journal = Journal(url, client)
        await journal.open()
        outcomes: list[list[Outcome]] = []
        try:
            async with open_assistant(read_settings()) as assistant:
                for number, turns in enumerate(conversations):
                    visit = Visit(assistant, journal, f"talk {number}")
                    outcomes.append(
                        [await visit.outcome(said) for said in turns if form.sees or said.kind != "picture"]
                    )
        except ConfigError as wrong:
            outcomes = [[Outcome("start", f"it does not start: {wrong}", await journal.new())]]
    return Talks(*outcomes)


class Visit:
    """One user in one thread, with the outcome of each turn."""

    def __init__(self, assistant: Assistant, journal: Journal, thread: str) -> None:
        self._assistant, self._journal, self._thread = assistant, journal, thread
        self._id = uuid.uuid4().hex

    async def outcome(self, said: Said) -> Outcome:
        """Play a turn, and compare its outcome with the required one."""
        before, stopped, events = await self._todos(), False, list[Event]()
        try:
            async with asyncio.timeout(LONGEST_TURN):
                stopped, events = await self._play(said)
        except TimeoutError:
            events = [Error(code="endless", text="")]
        requests, after = await self._journal.new(whole=said.kind == "picture"), await self._todos()
        added, removed = after - before, before - after
        doubled = (added - Counter(said.adds)).total() if added & Counter(said.adds) == Counter(said.adds) else 0
        faults = [
            _of_stop(stopped, requests) if said.kind == "stop" else _of_words(said, events),
            _of_tools(said, events),
            "" if (added, removed) == (Counter(said.adds), Counter(said.removes)) else _change(added, removed),
            "" if said.kind != "picture" or _is_shown(requests) else "the model did not get the picture",
        ]
        return Outcome(said.name, next(filter(None, faults), ""), requests, doubled)

    async def _play(self, said: Said) -> tuple[bool, list[Event]]:
        """Play a turn to its end, or stop it at its first words if the turn wants that; tell whether it was stopped."""
        turn = Turn(thread=self._thread, text=said.text.replace("(talk)", self._id))
        if said.kind == "picture":
            photo = Quoted(kind="photo", text="", by="photo", origin=Origin.FILE)
            shown = Contents([create_image_block(base64=PNG, mime_type="image/png")])
            turn = replace(turn, quoted=[photo], contents=shown)
        events, stopped = list[Event](), False
        async for event in self._assistant.play(turn):
            events.append(event)
            if said.kind == "stop" and isinstance(event, Token) and not stopped:
                stopped = await self._assistant.stop(self._thread)
        return stopped, events

    async def _todos(self) -> Counter[str]:
        items = await self._assistant.memory.store.asearch(("users", self._thread, "todos"), limit=1000)
        return Counter(str(item.value["text"]) for item in items)


def _of_words(said: Said, events: Sequence[Event]) -> str:
    """Return the fault of the user's text; empty if it is right."""
    words = " | ".join(event.text for event in events if isinstance(event, Message))
    errors = [event.code for event in events if isinstance(event, Error) and event.code != RETRY]
    is_asked = any(isinstance(event, Interrupt) for event in events)
    if said.kind == "refusal":
        return "" if words or {*errors} & {"refused", *CUT} else f"no refusal: {', '.join(errors) or 'silence'}"
    if said.kind == "cut":
        if "cut_length" not in errors:
            return f"the cut is not told: {words[:40] or ', '.join(errors)!r}"
    elif errors:
        return f"error {', '.join(errors)}"
    if said.kind == "question":
        return "" if is_asked else "no question"
    if said.kind == "switch" and not any(isinstance(event, Handover) and event.to == "orders" for event in events):
        return "no switch"
    if not words:
        return "silence"
    return "" if said.says in words else f"it says {words[:60]!r}"


def _of_stop(stopped: bool, requests: Sequence[Request]) -> str:
    if not stopped:
        return "it was over before it could be stopped"
    return "the server was not told to stop" if any(request.verdict == "open" for request in requests) else ""


def _of_tools(said: Said, events: Sequence[Event]) -> str:
    ended = [event.tool for event in events if isinstance(event, ToolEnd) and event.ok]
    return "" if not said.tools or ended == [*said.tools] else f"tools {', '.join(ended) or 'none'}"


def _change(added: Counter[str], removed: Counter[str]) -> str:
    return f"written: {', '.join(added.elements()) or 'nothing'}; removed: {', '.join(removed.elements()) or 'nothing'}"


def _is_shown(requests: Sequence[Request]) -> bool:
    return any(place in request.body for request in requests for place in PLACES)
