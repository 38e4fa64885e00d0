"""A confirmed deletion is carried out and told, with any message after the wish, and after a repetition."""

from collections.abc import Collection

import pytest

from agents.conversation.deletion import EVERYTHING
from agents.events import Message
from agents.memory.connection import Connection
from agents.memory.deletions import Deletion
from agents.memory.inbox import InboxEntry
from app.assistant import Assistant, Turn
from app.testing import Chat
from prompts import phrase


async def said(assistant: Assistant, id: str, text: str) -> list[str]:
    """Return the answer to a message."""
    events = [event async for event in assistant.play(Turn(thread="ann", id=id, text=text))]
    return [event.text for event in events if isinstance(event, Message)]


async def test_a_wish_is_carried_out_before_what_came_behind_it(chat: Chat) -> None:
    """A crash left the yes open; the message behind it is answered by somebody who knows nothing any more."""
    chat.expects(supervisor=["Nice to meet you."])
    await chat.says("forget everything about me")
    async with chat.assistant() as assistant:
        await assistant.memory.transcript.accept(InboxEntry("ann", "agreed", "ann", "yes", "message"))
        assert await said(assistant, "behind", "hello you there") == [phrase("forgotten_me", "en"), "Nice to meet you."]
        assert [line.text for line in await assistant.history("ann")] == ["hello you there", "Nice to meet you."]


async def test_the_same_yes_is_answered_again_and_deletes_nothing_more(chat: Chat) -> None:
    """The messenger brings it once more after everything else is gone."""
    chat.expects(supervisor=["Nice to meet you."])
    await chat.says("forget everything about me")
    async with chat.assistant() as assistant:
        assert await said(assistant, "agreed", "yes") == [phrase("forgotten_me", "en")]
        assert await said(assistant, "behind", "hello you there") == ["Nice to meet you."]
        assert await said(assistant, "agreed", "yes") == [phrase("forgotten_me", "en")]
        assert len(await assistant.history("ann")) == 2
        assert not await assistant.receive(Turn(thread="ann", id="behind", text="hello you there"))


async def test_what_was_deleted_already_is_not_deleted_again(chat: Chat) -> None:
    """Another process may meet the same wish; later messages stay."""
    chat.expects(supervisor=["Nice to meet you."])
    await chat.says("hello you there")
    async with chat.assistant() as assistant:
        await assistant.forgetting.carry_out(Deletion("ann", "agreed", "ann", EVERYTHING, "en"))
        assert len(await assistant.history("ann")) == 2


async def test_a_wish_of_another_thread_is_met(chat: Chat) -> None:
    """A kill came between the yes and the deletion; the user speaks in another thread, and all of it is gone first."""
    chat.expects(supervisor=["Hello.", "Nice to meet you."])
    await chat.says("hello you there")
    async with chat.assistant() as assistant:
        transcript, agreed = assistant.memory.transcript, InboxEntry("ann", "agreed", "ann", "yes", "message")
        await transcript.accept(agreed)
        deletion = assistant.memory.forgettings.entering(Deletion("ann", "agreed", "ann", EVERYTHING, "en"))
        await transcript.close(agreed, "done", 2, [], beside=[deletion])
        async for _ in assistant.play(Turn(thread="other", user="ann", id="next", text="hello again")):
            pass
        assert await assistant.history("ann") == []
        assert len(await assistant.history("other")) == 2


@pytest.mark.parametrize("is_scrubbed", [True, False])
@pytest.mark.parametrize("failure", [OSError("the disk is full"), SystemExit(3)], ids=repr)
async def test_what_a_plugin_cannot_delete_is_told(
    chat: Chat,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    *,
    is_scrubbed: bool,
) -> None:
    """All else is deleted, the developer reads the error, and nobody is told that the wish is done.

    It is told as well while another process reads the database.
    """
    chat.expects(supervisor=["Hello.", "Nice to meet you."])
    await chat.says("hello you there", "forget everything about me")
    reached = list[Collection[str]]()

    async def fail(thread: str, users: Collection[str]) -> None:
        raise failure

    async def reach(thread: str, users: Collection[str]) -> None:
        reached.append(users)

    async def scrub(connection: Connection) -> bool:
        return is_scrubbed

    async with chat.assistant() as assistant:
        monkeypatch.setattr(assistant.memory.storage, "scrub", scrub)
        assistant.memory.erasers += [fail, reach]
        assert await said(assistant, "agreed", "yes") == [phrase("forgotten_not_all", "en")]
        assert await assistant.history("ann") == []
        assert reached[0] == {"ann"}
        assert "a plug-in could not delete its rows" in caplog.text
        assert await said(assistant, "agreed", "yes") == [phrase("forgotten_not_all", "en")]
        assert await said(assistant, "behind", "hello again") == ["Nice to meet you."]
