"""Let a real model server read each contestant's prompts, and measure its computed tokens.

`python -m benchmarks.real --server URL [--turns 30] [--only NAME …] [--one-slot] [--counted]`; needs the packages of
`requirements-bench.txt` and llama.cpp's `llama-server`, which counts in each answer how many tokens of a prompt it
computed and how many it had. The script of `conversation.toml` is performed with scripted models, and every prompt is
recorded with its reply. The server then reads prompt by prompt, in that order, one at a time, and after each the
recorded reply, as if it had generated it. So all contestants say the same, whatever the server's model is.

Without `--one-slot` the server puts each prompt where it fits best, and keeps the rest in RAM as it was started
(`-np 4`). With it all prompts share one slot, and nothing else is kept if the server was started with `--cache-ram 0`.
Times are of this machine: compare the ratios.

With `--counted` the server writes and tokenizes the prompts, and computes nothing: a token counts as computed if no
prompt before with its reply (with `--one-slot`: not the last one) begins the same way up to it.
"""

import argparse
import asyncio
import os
import platform
import sys
import tempfile
import time
import uuid
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages

from app.testing.script import Asked
from benchmarks.contest import entered
from benchmarks.contestant import OURS, Contestant
from benchmarks.conversation import TURNS, script
from benchmarks.instant import plain
from benchmarks.report import Row, arguments, show

NAMES = (OURS, "langgraph-swarm", "specialists as tools", "langgraph-supervisor")
MARKS = (10, 30, 100)
"""The turns after which the figures are printed."""
PATIENCE = 600.0
"""Seconds that the server may read one prompt."""


@dataclass(frozen=True)
class Request:
    """One prompt of a turn, in OpenAI's form, and the reply to it."""

    turn: int
    messages: list[Any]
    tools: list[Any]
    reply: Any


@dataclass
class Reading:
    """The server's figures for the prompts of some turns."""

    calls: int = 0
    computed: int = 0
    reused: int = 0
    seconds: list[float] = field(default_factory=list)
    """Seconds of each call until its first token."""
    turns: dict[int, float] = field(default_factory=dict)
    """Seconds of each turn: its calls one after the other, without the replies."""

    def add(self, turn: int, timings: Mapping[str, Any], seconds: float) -> None:
        """Add the figures of one prompt."""
        self.calls += 1
        self.computed += int(timings["prompt_n"])
        self.reused += int(timings["cache_n"])
        self.seconds.append(seconds)
        self.turns[turn] = self.turns.get(turn, 0.0) + seconds

    def row(self, name: str, turns: int) -> Row:
        """Return the figures so far."""
        share = 100 * self.reused / (self.reused + self.computed)
        counts = {"calls": self.calls, "computed": self.computed, "reused": self.reused, "reused %": share}
        if not any(self.seconds):
            return {"contestant": name, "turns": turns, **counts}
        times = {"first token, s": median(self.seconds), "a turn, s": median(self.turns.values())}
        return {"contestant": name, "turns": turns, **counts, **times}


async def record(name: str, turns: int, *, one_slot: bool) -> list[Request]:
    """Perform the script, and return its requests with the replies."""
    requests: list[Request] = []
    with tempfile.TemporaryDirectory() as folder:
        contestant = Contestant(name, "exit", slots=1 if one_slot else None)
        async with entered(contestant, Path(folder) / "script.db") as (player, play):
            for turn, step in enumerate(script(turns), 1):
                await play(step, "script")
                pairs = zip(player.asked[len(requests) :], player.replies[len(requests) :], strict=True)
                requests += [_request(turn, plain(asked), reply) for asked, reply in pairs]
    return requests


def _request(turn: int, asked: Asked, reply: AIMessage) -> Request:
    return Request(turn, _plain(asked.messages), asked.tools, _plain([reply])[0])


def _plain(messages: Sequence[BaseMessage]) -> list[Any]:
    converted = convert_to_openai_messages(messages)
    return converted if isinstance(converted, list) else [converted]


class TooLong(Exception):
    """A prompt is longer than the model's window."""


class Server:
    """A llama.cpp server."""

    def __init__(self, client: httpx.Client, slot: int | None) -> None:
        self.client = client
        self.where = {} if slot is None else {"id_slot": slot}

    def take(self, request: Request) -> tuple[Mapping[str, Any], float]:
        """Let the server read a prompt, and then its reply; return the counts and the seconds for the prompt."""
        text = self.prompt(request)
        begun = time.perf_counter()
        timings, seconds = self._read(text, 1), time.perf_counter() - begun
        self._read(self.answered(request), 0)
        return timings, seconds

    def _read(self, text: str, most: int) -> Mapping[str, Any]:
        """Let the server read a text and write so many tokens; return its times and counts."""
        body = {"prompt": text, "n_predict": most, "cache_prompt": True, "temperature": 0, **self.where}
        timings: Mapping[str, Any] = self.asked("/completion", body)["timings"]
        return timings

    def prompt(self, request: Request) -> str:
        """Return a request as a text in the model's template."""
        return self._written(request, request.messages)

    def answered(self, request: Request) -> str:
        """Return the same text with the reply: the common beginning of two possible next prompts."""
        nexts = [[*request.messages, request.reply, {"role": "user", "content": text}] for text in ("?", "!")]
        pairs = zip(*(self._written(request, messages) for messages in nexts), strict=False)
        return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _written(self, request: Request, messages: Sequence[Any]) -> str:
        body = {"messages": messages, **({"tools": request.tools} if request.tools else {})}
        return str(self.asked("/apply-template", body)["prompt"])

    def asked(self, path: str, body: object) -> Any:
        """Return the server's response to a request."""
        answer = self.client.post(path, json=body)
        if "exceed_context_size" in answer.text:
            raise TooLong
        if not answer.is_success:
            raise SystemExit(f"{path}: HTTP {answer.status_code}: {answer.text[:300]}")
        return answer.json()


class Counting(Server):
    """A server that only tokenizes; the earlier prompts tell which tokens it would compute."""

    def __init__(self, client: httpx.Client, slot: int | None) -> None:
        super().__init__(client, slot)
        self.kept: list[Sequence[int]] = []

    def take(self, request: Request) -> tuple[Mapping[str, Any], float]:
        """Return the counts of a server that keeps each prompt with its reply, or with one slot the last one alone."""
        prompt, answered = self._tokens(self.prompt(request)), self._tokens(self.answered(request))
        reused = max((_shared(prompt, former) for former in self.kept), default=0)
        self.kept = [answered] if self.where else [*self.kept, answered]
        return {"prompt_n": len(prompt) - reused, "cache_n": reused}, 0.0

    def _tokens(self, text: str) -> Sequence[int]:
        tokens: list[int] = self.asked("/tokenize", {"content": text, "parse_special": True})["tokens"]
        return tokens


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of equal tokens at the beginning of two texts."""
    sizes = range(1, min(len(first), len(second)) + 1)
    return bisect_left(sizes, True, key=lambda size: first[:size] != second[:size])


def play(server: Server, name: str, requests: Sequence[Request]) -> Iterator[Row]:
    """Let the server read a contestant's prompts, and yield its figures at each mark and at the end.

    A prompt beyond the model's window is the contestant's end.
    """
    reading, last = Reading(), requests[-1].turn
    # No prompt in the server's cache is a beginning of these prompts.
    anew = f"Talk {uuid.uuid4().hex[:8]}.\n"
    for place, request in enumerate(requests):
        first, *rest = request.messages
        own = replace(request, messages=[{**first, "content": anew + first["content"]}, *rest])
        try:
            reading.add(request.turn, *server.take(own))
        except TooLong:
            yield reading.row(f"{name}: its prompts fit no longer", request.turn)
            return
        is_last_of_turn = place + 1 == len(requests) or requests[place + 1].turn > request.turn
        if is_last_of_turn and request.turn in {*MARKS, last}:
            yield reading.row(name, request.turn)


def machine() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, '') or platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def _chosen() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--server", required=True, help="the address of a llama-server, such as http://127.0.0.1:8080")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--one-slot", action="store_true", help="all prompts share slot 0")
    parser.add_argument("--counted", action="store_true", help="tokenize and count, compute nothing")
    return parser.parse_args()


def main() -> None:
    """Record the contestants, have their prompts read, and print each one's figures as soon as it is done."""
    chosen = _chosen()
    kind = Counting if chosen.counted else Server
    with httpx.Client(base_url=chosen.server, timeout=PATIENCE) as client:
        for name in chosen.only:
            requests = asyncio.run(record(name, chosen.turns, one_slot=chosen.one_slot))
            show([*play(kind(client, 0 if chosen.one_slot else None), name, requests)], as_json=chosen.json)
            sys.stdout.flush()
    if not chosen.json:
        print(f"ran on {machine()}; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
