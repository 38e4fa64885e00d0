"""Branches: a conversation goes on from an earlier turn, and what was written goes with it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from agents.events import Error, Message
from agents.memory.connection import Connection, Work
from agents.models import Models
from agents.models.factory import Endpoint, make_model
from agents.toolkit import Runtime, traits
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.assistant.branches import Branches
from app.assistant.turn import Exchange
from app.testing import Chat
from app.testing.script import Call, Script
from tests.support.rules import RulesModel
from tests.support.sampling import sample
from tests.support.scripted_assistant import ROLES, THREAD, stage, todos

pytestmark = pytest.mark.needs("planner")

LIST = Call("plan_things", {"brief": "-"})


async def says(chat: Chat, text: str, after: str, id: str, *before: Exchange) -> None:
    """Say something behind the turn of a message."""
    async with chat.assistant() as assistant:
        turn = Turn(thread="ann", text=text, id=id, after=after, before=before)
        assert [event async for event in assistant.play(turn)]


async def listed(chat: Chat) -> list[str]:
    """Return the to-dos."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(("users", "ann", "todos"))
    return sorted(item.value["text"] for item in items)


async def heard(chat: Chat) -> list[str]:
    """Return the user's messages in the planner's history."""
    return [message.text for message in await chat.messages("planner") if message.type == "human"]


async def test_what_is_left_is_taken_back_and_comes_again(chat: Chat) -> None:
    """Each branch has its own state and its own items, however often the user goes from one to the other."""
    milk, tea, rum = (Call("add_todos", {"items": [text]}) for text in ("milk", "tea", "rum"))
    chat.expects(supervisor=[LIST], planner=[milk, "1", tea, "2", rum, "3", "4", "5"])
    await says(chat, "milk", "", "m")
    await says(chat, "tea", "m", "t")
    assert await listed(chat) == ["milk", "tea"]
    await says(chat, "rum", "m", "r")
    assert (await listed(chat), await heard(chat)) == (["milk", "rum"], ["milk", "rum"])
    await says(chat, "well", "t", "w")
    assert (await listed(chat), await heard(chat)) == (["milk", "tea"], ["milk", "tea", "well"])
    await says(chat, "hm", "r", "h")
    assert (await listed(chat), await heard(chat)) == (["milk", "rum"], ["milk", "rum", "hm"])


async def test_again_from_the_beginning(chat: Chat) -> None:
    """The first message said anew writes once."""
    milk = Call("add_todos", {"items": ["milk"]})
    chat.expects(supervisor=[LIST, LIST], planner=[milk, "1", milk, "2"])
    await says(chat, "milk", "", "m")
    await says(chat, "milk", "", "n")
    assert (await listed(chat), await heard(chat)) == (["milk"], ["milk"])


async def test_what_was_said_elsewhere_is_read_in(chat: Chat) -> None:
    """It stands in the history and in the transcript, and is no wish to be done."""
    chat.expects(supervisor=["Hello.", "So it was."])
    await says(chat, "hi", "", "h")
    await says(chat, "and?", "h", "a", Exchange("add rum", "Noted."), Exchange("thanks", ""))
    assert [message.text for message in await chat.messages("supervisor")] == [
        "hi",
        "Hello.",
        "add rum",
        "Noted.",
        "thanks",
        "and?",
        "So it was.",
    ]
    async with chat.assistant() as assistant:
        assert [line.text for line in await assistant.history("ann")][2:5] == ["add rum", "Noted.", "thanks"]
        assert next(iter(await assistant.branches.path("ann", "a"))) == "h"


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("step", sample(range(1, 12), 2))
async def test_a_process_that_ends_on_its_way_to_a_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Whichever write it was that is missing, the same message sent again finds all that stands, once."""
    models = Models(make_model("local:rules", Endpoint(rules=RulesModel)))
    said = ("hello", ""), ("add milk to my list", "h"), ("add tea to my list", "m")

    async def play(assistant: Assistant, text: str, after: str, id: str) -> None:
        async for event in assistant.play(Turn(thread=THREAD, text=text, id=id, after=after)):
            assert not isinstance(event, Error)

    async with stage(tmp_path / "killed.db", models) as assistant:
        for text, after in said:
            await play(assistant, text, after, next(word for word in text.split() if word != "add")[0])
        count, write, go = 0, Connection.write, assistant.branches.go

        async def counted(self: Connection, work: Work[object]) -> object:
            nonlocal count
            count += 1
            if count == step:
                raise Killed
            return await write(self, work)

        async def killed(*args: Any) -> Any:
            with monkeypatch.context() as inside:
                inside.setattr(Connection, "write", counted)
                return await go(*args)

        monkeypatch.setattr(Branches, "go", lambda _, *args: killed(*args))
        with suppress(Killed):
            await play(assistant, "add rum to my list", "h", "r")
        monkeypatch.undo()
    async with stage(tmp_path / "killed.db", models) as assistant:
        await play(assistant, "add rum to my list", "h", "r")
        assert await todos(assistant) == ["rum"]
        await play(assistant, "add gin to my list", "t", "g")
        assert await todos(assistant) == ["milk", "tea", "gin"]


SENT: list[str] = []


@traits(effect="write")
@tool
async def send_letter(text: str, runtime: Runtime) -> str:
    """Send a letter."""
    SENT.append(text)
    return "It is sent."


def with_letters(speakers: Speakers) -> Speakers:
    """Return speakers of whom the planner can send letters."""
    return speakers.each(
        lambda speaker: replace(speaker, tools=[send_letter]) if speaker.name == "planner" else speaker
    )


@pytest.mark.parametrize("step", sample(range(1, 16), 2))
async def test_a_remark_outlives_who_was_to_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Whichever write was missing: what stays is told once, and what was said elsewhere stands once."""
    script, before = Script(), [Exchange("and so on", "Yes.")]
    script.add(supervisor=[LIST], planner=["Well?", Call("send_letter", {"text": "A"}), "Done.", "Fine."])
    count, write = 0, Connection.write

    async def counted(self: Connection, work: Work[object]) -> object:
        nonlocal count
        count += 1
        if count == step:
            raise Killed
        return await write(self, work)

    async def play(assistant: Assistant, text: str, after: str, *rest: Exchange) -> list[str]:
        turn = Turn(thread=THREAD, text=text, id=text, after=after, before=rest)
        return [event.text async for event in assistant.play(turn) if isinstance(event, Message)]

    async with stage(tmp_path / "killed.db", script.models(ROLES), change=with_letters) as assistant:
        await play(assistant, "hi", "")
        await play(assistant, "send A", "hi")
        monkeypatch.setattr(Connection, "write", counted)
        texts = list[str]()
        with suppress(Killed):
            texts = await play(assistant, "well", "hi", *before)
        monkeypatch.undo()
    async with stage(tmp_path / "killed.db", script.models(ROLES), change=with_letters) as assistant:
        texts = texts or await play(assistant, "well", "hi", *before)
        assert any("cannot be taken back" in text for text in texts)
        lines = [line.text for line in await assistant.history(THREAD)]
        assert len([text for text in lines if "cannot be taken back" in text]) == 1
        assert lines.count("and so on") == 1


async def test_what_cannot_be_taken_back_is_told_and_not_done_twice(tmp_path: Path) -> None:
    """The same call in the same message again has its answer; another one is made."""
    SENT.clear()
    script, letters = Script(), [Call("send_letter", {"text": text}) for text in ("A", "A", "B")]
    script.add(supervisor=[LIST], planner=["Well?", *(line for letter in letters for line in (letter, "Done."))])
    async with stage(tmp_path / "letters.db", script.models(ROLES), change=with_letters) as assistant:
        told = list[list[str]]()
        for text, id, after in (("hi", "h", ""), ("send A", "a", "h"), ("send A", "b", "h"), ("send B", "c", "h")):
            turn = Turn(thread=THREAD, text=text, id=id, after=after)
            events = [event async for event in assistant.play(turn)]
            told.append([event.text for event in events if isinstance(event, Message)])
    assert SENT == ["A", "B"]
    assert [len(texts) for texts in told] == [1, 1, 2, 2]
    assert "cannot be taken back" in told[2][0]
