"""The inbox and the transcript: each message once, in order."""

import time
from pathlib import Path
from typing import Any

import pytest

from agents.errors import UsageError
from agents.memory import Memory
from agents.memory.inbox import InboxEntry, TranscriptLine, storable
from tests.support.tiny_graph import count, letter, reply


class TestTranscript:
    """Inbox and transcript."""

    async def test_a_message_is_accepted_once(self, path: Path, memory: Memory) -> None:
        """The same message again changes nothing and returns what is known of it."""
        assert await memory.transcript.accept(letter()) == letter()
        await memory.transcript.close(letter(), "done", 3, [reply("hi")])
        again = await memory.transcript.accept(letter())
        assert (again.status, again.turn, again.text) == ("done", 3, "hello")
        assert again == await memory.transcript.entry("t", "m1")
        assert count(path, "inbox") == 1

    @pytest.mark.parametrize(("first", "second"), [("hello", "bye"), ("hello", None), (None, "hello")])
    async def test_an_id_with_another_text_is_refused(
        self, memory: Memory, first: str | None, second: str | None
    ) -> None:
        """An id stands for one text, before and after it was answered."""
        await memory.transcript.accept(letter(text=first))
        with pytest.raises(UsageError, match="another text"):
            await memory.transcript.accept(letter(text=second))
        await memory.transcript.close(letter(text=first), "done", 1, [reply("hi")])
        with pytest.raises(UsageError, match="another text"):
            await memory.transcript.accept(letter(text=second))
        await memory.transcript.accept(letter(text=second, thread="another"))

    async def test_closing_twice_writes_once(self, memory: Memory) -> None:
        """Equal replies of one message are kept apart, but a second close adds none."""
        await memory.transcript.accept(letter())
        for _ in range(2):
            await memory.transcript.close(letter(), "done", 1, [reply("ok"), reply("ok"), reply("bye")])
        lines = await memory.transcript.lines("t")
        assert [line.text for line in lines] == ["hello", "ok", "ok", "bye"]

    async def test_failed_then_done(self, memory: Memory) -> None:
        """The user's line stands once; the apology and the later answer both stand."""
        await memory.transcript.accept(letter())
        await memory.transcript.close(letter(), "failed", 1, [reply("Sorry.", source="llm failure")])
        assert await memory.transcript.open_entries("t") == []
        await memory.transcript.close(letter(), "done", 2, [reply("Here you are.")])
        rows = [(line.role, line.text, line.turn) for line in await memory.transcript.lines("t")]
        assert rows == [("user", "hello", 1), ("assistant", "Sorry.", 1), ("assistant", "Here you are.", 2)]
        last = await memory.transcript.last("t")
        assert last is not None
        assert (last.status, last.turn) == ("done", 2)

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

    async def test_lines_say_who_when_and_how(self, memory: Memory) -> None:
        """Metadata comes back as it was; the user's line names the source and the time of receipt."""
        before = time.time_ns() // 1_000_000
        await memory.transcript.accept(letter())
        cut_off = reply("Once upon", interrupted=True, interrupt_timestamp=7, original="Once upon a time")
        await memory.transcript.close(letter(), "interrupted", 1, [cut_off])
        heard, said = await memory.transcript.lines("t")
        assert (heard.role, heard.speaker, heard.metadata) == ("user", "u", {"source": "message"})
        assert before <= heard.at_ms <= time.time_ns() // 1_000_000
        assert said == TranscriptLine("assistant", "supervisor", "Once upon", 1, "m1", 5, cut_off.metadata)

    async def test_speaking_unasked_has_no_user_line(self, memory: Memory) -> None:
        """A message without text leaves only what the assistant said."""
        await memory.transcript.accept(letter(text=None))
        await memory.transcript.close(letter(text=None), "done", 1, [reply("Good morning")])
        await memory.transcript.close(letter(text=None), "done", 1, [reply("Good morning")])
        assert [line.text for line in await memory.transcript.lines("t", message_id="m1")] == ["Good morning"]
        assert await memory.transcript.entry("t", "m1") == InboxEntry("t", "m1", "u", None, "message", "done", 1)

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

    async def test_open_letters_are_oldest_first(self, memory: Memory) -> None:
        """Open messages are found again in the order of receipt."""
        for number in ("2", "1", "3"):
            await memory.transcript.accept(letter(number))
        await memory.transcript.close(letter("1"), "failed", 1, [])
        assert [item.message_id for item in await memory.transcript.open_entries("t")] == ["2", "3"]
        last = await memory.transcript.last("t")
        assert last is not None
        assert last.message_id == "3"

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

    async def test_who_wrote_where(self, memory: Memory) -> None:
        """The users of a thread and the threads of a user; deleted ones count no longer."""
        await memory.transcript.accept(letter("m1", user="u"))
        await memory.transcript.accept(letter("m2", user="v"))
        await memory.transcript.accept(letter("m1", thread="second", user="v"))
        assert await memory.transcript.users_of("t") == {"u", "v"}
        assert await memory.transcript.threads_of("v") == {"t", "second"}
        await memory.transcript.erase("t")
        assert await memory.transcript.users_of("t") == set()
        assert await memory.transcript.last("t") is None
