"""An operator's server ends threads, and receives their memory."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from pydantic import SecretStr

from agents.language.text.clean import safe_json
from agents.memory import Memory
from agents.memory.inbox import InboxEntry
from app.assistant import Assistant
from app.databases import backend_of
from app.plugins.callbacks import TABLES
from app.plugins.callbacks import pushes as module
from app.plugins.callbacks.pushes import Callbacks
from app.testing.script import Script
from tests.support.http_door import calling
from tests.support.http_service import Answer, Service
from tests.support.until import until

HELLO = {"text": "hello"}


@asynccontextmanager
async def pushing(assistant: Assistant, receiver: Service) -> AsyncIterator[httpx.AsyncClient]:
    """Call a server that pushes to a receiver."""
    callbacks = Callbacks(assistant.memory, f"{receiver.url}/memory", SecretStr("secret"))
    # The server pushes by the first one that it finds.
    assistant.services._services.insert(0, callbacks)
    assistant.services._found.clear()
    async with calling(assistant) as client:
        yield client


async def taken(receiver: Service, number: int) -> None:
    """Wait until a receiver was asked so often."""
    await until(lambda: len(receiver.asked) >= number)


async def test_memory_is_pushed_once(assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is down gets it later, signed; the same end again is pushed no more, a later one is."""
    monkeypatch.setattr(module, "FIRST_WAIT", 0.05)
    script.add(supervisor=["Hello.", "Again."])
    async with Service.open(Answer(status=503), Answer({}, status=500), Answer({})) as receiver:
        async with pushing(assistant, receiver) as client:
            await client.post("/threads/ann/turns", json=HELLO)
            for _ in "12":
                answer = await client.post("/threads/ann/stop")
                assert answer.json() == {"stopped": False, "pushed": True}
            await taken(receiver, 3)
            await client.post("/threads/ann/turns", json=HELLO)
            await client.post("/threads/ann/stop")
            await taken(receiver, 4)
            memory = (await client.get("/threads/ann/memory")).json()["contents"]
        first, *_, last = receiver.asked
        assert [asked.headers["x-delivery-id"] for asked in receiver.asked] == ["1", "1", "1", "3"]
        assert first.body["contents"] == memory[:2]
        assert last.body == {"thread": "ann", "contents": memory}
        signed = hmac.new(b"secret", safe_json(last.body).encode(), hashlib.sha256).hexdigest()
        assert last.headers["x-signature-256"] == f"sha256={signed}"


class ReadClock:
    """A clock that a test moves; it counts how often it is read, in milliseconds."""

    def __init__(self) -> None:
        self.times, self.reads = [1_000_000], 0

    def __call__(self) -> int:
        """Read it."""
        self.reads += 1
        return self.times[-1]

    def go_on(self, milliseconds: int) -> None:
        """Move it forward."""
        self.times.append(self.times[-1] + milliseconds)

    async def is_looked_at(self) -> None:
        """Wait until whoever pushes has looked again for what is due."""
        reads = self.reads
        await until(lambda: self.reads > reads + 4)


async def due(memory: Memory) -> list[int]:
    """Return when the pushes that wait are tried next, Unix time in milliseconds."""
    rows = await memory.database.execute("SELECT due_ms FROM callbacks WHERE name IS NOT NULL ORDER BY id")
    return [due_ms for (due_ms,) in rows]


async def due_becomes(memory: Memory, times: list[int]) -> None:
    """Wait until the pushes that wait are due at these times."""

    async def is_so() -> bool:
        return await due(memory) == times

    await until(is_so)


async def test_a_receiver_is_down_for_ten_minutes(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push is tried after 2, 4, 8 … seconds, by a process that starts meanwhile as well, until it arrives, once."""
    clock, waits = ReadClock(), [2, 4, 8, 16, 32, 64, 128, 256, 512]
    monkeypatch.setattr(module, "now_ms", clock)
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    script.add(supervisor=["Hello."])
    down = [Answer(status=503)] * len(waits)
    async with Service.open(*down, Answer({})) as receiver:
        async with pushing(assistant, receiver) as client:
            await client.post("/threads/ann/turns", json=HELLO)
            await client.post("/threads/ann/stop")
            for wait in waits[:5]:
                await due_becomes(assistant.memory, [clock.times[-1] + wait * 1000])
                clock.go_on(wait * 1000)
            # A process that ends amid a push may not have stored its outcome.
            await due_becomes(assistant.memory, [clock.times[-1] + waits[5] * 1000])
        async with pushing(assistant, receiver):
            for wait in waits[5:]:
                await due_becomes(assistant.memory, [clock.times[-1] + wait * 1000])
                clock.go_on(wait * 1000)
            await due_becomes(assistant.memory, [])
            clock.go_on(module.LASTS_MS)
            await clock.is_looked_at()
    assert clock.times[-3] - clock.times[0] < 600_000 < clock.times[-2] - clock.times[0]
    assert [asked.headers["x-delivery-id"] for asked in receiver.asked] == ["1"] * (len(waits) + 1)
    assert [asked.body["thread"] for asked in receiver.asked] == ["ann"] * (len(waits) + 1)


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True)
async def test_two_processes_push_once(database: str) -> None:
    """Of two processes over one database one pushes each end of a thread, whichever has noted it."""
    threads = [f"thread {number}" for number in range(20)]
    async with (
        Service.open(Answer({}, pace=0.01)) as receiver,
        backend_of(database).open(tables=[TABLES]) as first,
        backend_of(database).open(tables=[TABLES]) as second,
    ):
        processes = [Callbacks(memory, receiver.url, None) for memory in (first, second)]
        for number, thread in enumerate(threads):
            entry = await first.transcript.accept(InboxEntry(thread, "1", "ann", "hello", "message"))
            await first.transcript.close(entry, "done", 1, [])
            await processes[number % 2].push(thread, thread, await first.transcript.lines(thread))
        async with processes[0], processes[1]:
            await due_becomes(first, [])
    assert sorted(asked.body["thread"] for asked in receiver.asked) == sorted(threads)


async def test_a_push_of_a_process_that_died(
    assistant: Assistant, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that runs already tries it when the time of the first one is over."""
    clock = ReadClock()
    monkeypatch.setattr(module, "now_ms", clock)
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    script.add(supervisor=["Hello."])
    async with Service.open(Answer(pace=600), Answer({})) as receiver, AsyncExitStack() as other:
        async with pushing(assistant, receiver) as client:
            await client.post("/threads/ann/turns", json=HELLO)
            await client.post("/threads/ann/stop")
            await taken(receiver, 1)
            await other.enter_async_context(pushing(assistant, receiver))
        await clock.is_looked_at()
        assert len(receiver.asked) == 1
        clock.go_on(module.LEASE_MS)
        await due_becomes(assistant.memory, [])
    assert [asked.headers["x-delivery-id"] for asked in receiver.asked] == ["1", "1"]


async def test_a_push_outlives_a_restart_but_not_forget(assistant: Assistant, script: Script) -> None:
    """The next server pushes the refused callbacks of the last one, unless their thread was deleted."""
    script.add(supervisor=["Hello.", "Hello."])
    async with Service.open(Answer(status=503)) as down, pushing(assistant, down) as client:
        for thread in ("ann", "bob"):
            await client.post(f"/threads/{thread}/turns", json=HELLO)
            await client.post(f"/threads/{thread}/stop")
        await taken(down, 2)
        assert (await client.delete("/threads/bob")).json() == {"forgotten": True}
    await assistant.memory.database.execute("UPDATE callbacks SET due_ms = 0")
    async with Service.open(Answer({})) as receiver, pushing(assistant, receiver):
        await due_becomes(assistant.memory, [])
        assert [asked.body["thread"] for asked in receiver.asked] == ["ann"]


async def test_a_push_that_waits_has_no_copy(assistant: Assistant, script: Script) -> None:
    """A waiting push leaves out deleted data: a user's part, or a thread that another process has deleted."""
    script.add(supervisor=["Hello, ann.", "Hello, bob.", "Hello."])
    async with Service.open(Answer(status=503)) as down, pushing(assistant, down) as client:
        for thread, user in (("team", "ann"), ("team", "bob"), ("alone", "alone")):
            await client.post(f"/threads/{thread}/turns", json={**HELLO, "user": user})
        for thread in ("team", "alone"):
            await client.post(f"/threads/{thread}/stop")
        await taken(down, 2)
    await assistant.forgetting.part("team", "ann")
    assistant.memory.erasers.clear()
    await assistant.forgetting.thread("alone")
    await assistant.memory.database.execute("UPDATE callbacks SET due_ms = 0")
    async with Service.open(Answer({})) as receiver, pushing(assistant, receiver) as client:
        await due_becomes(assistant.memory, [])
        assert [asked.body["thread"] for asked in receiver.asked] == ["team"]
        assert [line["content"] for line in receiver.asked[0].body["contents"]] == ["hello", "Hello, bob."]


async def test_a_push_under_way_ends_when_its_thread_is_forgotten(assistant: Assistant, script: Script) -> None:
    """Forgetting a thread breaks off its push, and nothing of it is sent again; others go on."""
    script.add(supervisor=["Hello.", "Hello."])
    async with Service.open(Answer(status=503, pace=30), Answer({})) as receiver:
        async with pushing(assistant, receiver) as client:
            for thread in ("ann", "bob"):
                await client.post(f"/threads/{thread}/turns", json=HELLO)
            await client.post("/threads/ann/stop")
            await taken(receiver, 1)
            await client.post("/threads/bob/stop")
            assert (await client.delete("/threads/ann")).json() == {"forgotten": True}
            await taken(receiver, 2)
        assert [asked.body["thread"] for asked in receiver.asked] == ["ann", "bob"]
        assert not await assistant.memory.database.execute("SELECT 1 FROM callbacks WHERE thread = 'ann'")
