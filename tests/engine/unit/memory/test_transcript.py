"""The inbox and the transcript: each message once, in order."""

import time
from typing import Any

import pytest

from agents.errors import UsageError
from agents.memory import Memory
from agents.memory.inbox import InboxEntry, TranscriptLine, storable
from tests.support.tiny_graph import letter, reply


class TestTranscript:
    """Inbox and transcript."""

    async def test_closing_twice_writes_once(self, memory: Memory) -> None:
        """Equal replies of one message are kept apart, but a second close adds none."""
        await memory.transcript.accept(letter())
        for _ in range(2):
            await memory.transcript.close(letter(), "done", 1, [reply("ok"), reply("ok"), reply("bye")])
        lines = await memory.transcript.lines("t")
        assert [line.text for line in lines] == ["hello", "ok", "ok", "bye"]

    async def test_records_end_with_what_is_not_answered(self, memory: Memory) -> None:
        """The record of a message that is being answered stands behind those of the turns before it."""
        for id, turn in (("m1", 1), ("m2", 2), ("m3", None)):
            await memory.transcript.accept(letter(id, text=id))
            if turn:
                await memory.transcript.close(letter(id, text=id), "done", turn, [reply("ok")], record=f"of {id}")
        assert await memory.transcript.records("t") == [
            ("m1", "m1", "of m1"),
            ("m2", "m2", "of m2"),
            ("m3", "m3", None),
        ]

    async def test_lines_can_be_narrowed(self, memory: Memory) -> None:
        """One message's lines, or the last few, always oldest first."""
        for number in range(1, 4):
            await memory.transcript.accept(letter(f"m{number}", f"q{number}"))
        for number in range(1, 4):
            await memory.transcript.close(letter(f"m{number}"), "done", number, [reply(f"a{number}")])
        await memory.transcript.close(letter("m1"), "done", 1, [reply("late")])
        assert [line.text for line in await memory.transcript.lines("t", limit=2)] == ["a3", "late"]
        assert [line.text for line in await memory.transcript.lines("t", message_id="m1")] == ["q1", "a1", "late"]
        assert await memory.transcript.lines("t", message_id="m9") == []
        assert await memory.transcript.lines("nowhere") == []

    async def test_an_unknown_message_cannot_be_closed(self, memory: Memory) -> None:
        """Closing what was never accepted is an error and writes nothing."""
        with pytest.raises(UsageError, match="never accepted"):
            await memory.transcript.close(letter(), "done", 1, [reply("hi")])
        assert await memory.transcript.lines("t") == []
        assert await memory.transcript.last("t") is None

    async def test_odd_characters_are_cleaned(self, memory: Memory) -> None:
        """Lone surrogates and NUL break nothing; names with them are refused."""
        assert storable("a\ud800b\0c\U0001f600") == "a\ufffdbc\U0001f600"
        odd = letter(text="a\udcff\0")
        assert (await memory.transcript.accept(odd)).text == "a\ufffd"
        await memory.transcript.close(odd, "done", 1, [reply("\ud800", original="\ud800")])
        assert await memory.transcript.accept(odd) == InboxEntry("t", "m1", "u", "a\ufffd", "message", "done", 1)
        (said,) = (await memory.transcript.lines("t"))[1:]
        assert (said.text, said.metadata["original"]) == ("\ufffd", "\ufffd")
        assert await memory.transcript.lines("\ud800", message_id="\ud800") == []
        with pytest.raises(UsageError, match="surrogates"):
            await memory.transcript.accept(letter("\udcff"))

    async def test_threads_are_listed(self, memory: Memory) -> None:
        """Each thread with who wrote last, its turns and its last activity, the most recent first."""
        await memory.transcript.accept(letter("m1", thread="old"))
        await memory.transcript.close(letter("m1", thread="old"), "done", 4, [])
        await memory.transcript.accept(letter("m1", thread="new", user="v"))
        late = TranscriptLine("assistant", "supervisor", "hi", 0, "", time.time_ns() // 1_000_000 + 60_000)
        await memory.transcript.close(letter("m1", thread="new", user="v"), "done", 1, [late])
        listed = await memory.threads.infos()
        assert [(summary.thread, summary.user, summary.turns) for summary in listed] == [
            ("new", "v", 1),
            ("old", "u", 4),
        ]
        assert listed[0].active_ms == late.at_ms
        assert await memory.threads.infos("v") == await memory.threads.infos(prefix="ne") == listed[:1]
        assert await memory.threads.infos(prefix="nf") == []

    async def test_lists_have_pages_and_a_search(self, memory: Memory) -> None:
        """Page follows page, each thread once; a search looks at names and at what was said, so many threads a page."""
        for number in range(5):
            own = letter("m1", thread=f"t{number}", user="ann", text="lions" if number % 2 else "Zebras  eat")
            await memory.transcript.accept(own)
            await memory.transcript.close(own, "done", 1, [reply("well")])
        await memory.transcript.accept(letter("m2", thread="t0", user="bob"))

        async def pages(**asked: Any) -> list[list[str]]:
            listed, before = list[list[str]](), None
            while True:
                page = await memory.threads.page(before=before, **asked)
                listed.append([info.thread for info in page.rows])
                if (before := page.next) is None:
                    return listed

        assert await pages(most=2) == [["t0", "t4"], ["t3", "t2"], ["t1"]]
        assert await pages(most=2, user="ann") == [["t4", "t3"], ["t2", "t1"], ["t0"]]
        assert await pages(most=2, prefix="t") == await pages(most=2)
        assert await pages(words="zebras eat") == [["t0", "t4", "t2"]]
        assert await pages(words="zebras", most_read=2) == [["t0", "t4"], ["t2"], []]
        assert await pages(words="T3") == [["t3"]]
        assert await pages(words="lions", user="bob") == [[]]
