"""The places of answers: to the asker, in their topic, in a moved group, from the bot that got the message."""

from pathlib import Path

import pytest

from app.assistant.clocks import Ring
from app.plugins.telegram.place import TelegramPlace, ThreadNames
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, until_noted, until_stored
from tests.support.scripted_assistant import ROLES, Echo, Gate, Holding
from tests.support.telegram_server import BotApi

OTHER = {"id": 7654321, "is_bot": True, "first_name": "Max", "username": "max_bot"}


async def test_an_answer_refers_to_its_question(door: Open, world: BotApi) -> None:
    """In a group it answers the asker's message; in a private chat there is nothing to tell apart."""
    async with door(Echo().models(ROLES)):
        asked = world.says(GROUP, "@sue_bot hello", user=ANN)
        world.says(ANN, "hello")
        await world.until_sent(GROUP, 1)
        await world.until_sent(ANN, 1)
    by_chat = {message["chat"]["id"]: message for message in world.sent}
    assert by_chat[GROUP]["reply_to_message"]["message_id"] == asked["message_id"]
    assert "reply_to_message" not in by_chat[ANN]


async def test_a_question_that_was_deleted_is_answered(door: Open, world: BotApi) -> None:
    """An answer arrives also when there is nothing left to refer to."""
    async with door(Echo().models(ROLES)):
        asked = world.says(GROUP, "@sue_bot hello", user=ANN)
        del world.chats.messages[GROUP, asked["message_id"]]
        assert await world.until_sent(GROUP, 1) == ["hello"]


@pytest.mark.parametrize("chat", [ANN, GROUP])
async def test_each_topic_is_a_thread_of_its_own(door: Open, world: BotApi, chat: int) -> None:
    """A message in one topic is answered there, and another one knows nothing of it; commands and reminders too."""
    async with door(Echo().models(ROLES)) as telegram:
        for topic, text in ((5, "first"), (6, "second"), (None, "third")):
            world.says(chat, f"@sue_bot {text}", user=ANN, topic=topic)
        await world.until_sent(chat, 3, door=telegram)
        await world.asks(chat, "/history@sue_bot", user=ANN, topic=6, sent=4, door=telegram)
        threads = [f"telegram-{chat}:5", f"telegram-{chat}:6", f"telegram-{chat}"]
        assert sorted(info.thread for info in await telegram.assistant.threads()) == sorted(threads)
        await telegram.deliver(Ring("reminder-1-1", threads[0], f"telegram-{ANN}", "⏰ milk"))
        users = {line.speaker for line in await telegram.assistant.history(threads[0]) if line.role == "user"}
        assert users == {f"telegram-{ANN}"}
    assert world.texts(chat, topic=5)[0].endswith("first")
    assert world.texts(chat, topic=5)[1].endswith("⏰ milk")
    assert world.texts(chat, topic=6)[0].endswith("second")
    assert "first" not in "".join(world.texts(chat, topic=6))
    drafts = [(call.get("message_thread_id")) for method, call in world.calls if method == "sendMessageDraft"]
    assert bool(drafts) == (chat > 0)
    assert set(drafts) <= {5, 6, None}


async def test_a_supergroup_goes_on_with_the_thread_of_its_group(door: Open, world: BotApi) -> None:
    """Its history and its reminders stay, also after a restart; the old number is not written to."""
    group = -55
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(group, "@sue_bot before", user=ANN, sent=1)
        world.migrates(group, GROUP)
        assert await world.asks(GROUP, "@sue_bot after", user=BOB, sent=1) == ["after"]
        await telegram.deliver(Ring("reminder-1-1", f"telegram-{group}", f"telegram-{BOB}", "⏰ milk"))
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(GROUP, "@sue_bot later", user=ANN, sent=3, door=telegram)
        [info] = await telegram.assistant.threads()
        assert info.thread == f"telegram-{group}"
        texts = [line.text for line in await telegram.assistant.history(info.thread) if line.role == "user"]
    assert texts == ["before", "after", "later"]
    assert len(world.texts(GROUP)) == 3
    assert world.refusals == []


async def test_an_answer_follows_a_group_that_moves_meanwhile(door: Open, world: BotApi, script: Script) -> None:
    """The group became a supergroup while the answer was made, and the bot has not heard of it yet."""
    script.gates["supervisor"] = gate = Gate(0)
    script.add(supervisor=["The answer."])
    async with door():
        world.says(-55, "@sue_bot hello", user=ANN)
        await world.until(lambda: script.asked)
        world.chats.moved[-55] = GROUP
        gate.set()
        assert await world.until_sent(GROUP, 1) == ["The answer."]


async def test_two_bots_on_one_database(door: Open, world: BotApi) -> None:
    """Each answers its own chats, whatever number their messages have; a person is the same one to both."""
    other = BotApi("7654321:another-token", OTHER)
    async with other.serving(), door(Echo().models(ROLES)) as telegram, door(Echo().models(ROLES), api=other) as two:
        world.says(ANN, "to sue")
        other.says(ANN, "to max")
        assert await world.until_sent(ANN, 1) == ["to sue"]
        assert await other.until_sent(ANN, 1) == ["to max"]
        await world.until(lambda: not telegram.chats.is_busy(ANN) and not two.chats.is_busy(ANN))
        threads = {info.thread: info.user for info in await telegram.assistant.threads()}
        assert threads == {f"telegram-{ANN}": f"telegram-{ANN}", f"telegram@7654321-{ANN}": f"telegram-{ANN}"}
        assert not await telegram.tell(f"telegram@7654321-{ANN}", "not mine")


async def test_only_its_own_bot_takes_up_what_was_left(door: Open, world: BotApi, script: Script) -> None:
    """A message to one bot is not answered by the other one after a restart."""
    other = BotApi("7654321:another-token", OTHER)
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    async with other.serving():
        async with door(Echo().models(ROLES)):
            await world.asks(BOB, "hello", sent=1)
        async with door(api=other, is_killed=True) as two:
            other.says(ANN, "to max")
            await until_stored(two, f"telegram@7654321-{ANN}", 1)
        async with door(Echo().models(ROLES)):
            await world.asks(BOB, "hello again", sent=2)
        assert world.texts(ANN) == []
        async with door(Echo().models(ROLES), api=other):
            assert await other.until_sent(ANN, 1) == ["to max"]


@pytest.mark.parametrize("thread", ["ann", "telegram-x", "telegram-5-2", "telegram-5:x", "telegram@7-5"])
def test_a_thread_of_another_door_is_nowhere(thread: str) -> None:
    """Names that only look like the bot's."""
    assert ThreadNames().place(thread) is None


def test_names_of_threads_lead_back() -> None:
    """A thread's name says the chat and the topic."""
    for names in (ThreadNames(), ThreadNames("telegram@7-", 7)):
        for chat, topic in ((5, None), (-100, 3)):
            thread = names.thread(chat, topic)
            assert names.place(thread) == TelegramPlace(chat, topic=topic, thread=thread, prefix=names.prefix)


async def test_pages_that_arrived_are_not_sent_again(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that ends in the middle of a long answer goes on behind its last page."""
    answer = "\n\n".join(f"Part {number} " + " ".join(f"word{place:03}" for place in range(437)) for number in range(4))
    script.add(supervisor=[answer])
    async with door(is_killed=True) as telegram:
        send, pages = telegram.sender._page, list[str]()

        async def stuck(to: object, page: object, *rest: object, **options: object) -> object:
            pages.append("page")
            if len(pages) == 3:
                await Gate(0).wait()
            return await send(to, page, *rest, **options)

        monkeypatch.setattr(telegram.sender, "_page", stuck)
        world.says(ANN, "tell me all")
        await world.until(lambda: len(pages) == 3)
    assert len(world.texts(ANN)) == 2
    async with door(Echo().models(ROLES)) as telegram:
        await world.until_sent(ANN, 4, door=telegram)
    assert [text.split(" word")[0] for text in world.texts(ANN)] == [f"Part {number}" for number in range(4)]


async def test_a_page_that_grew_is_left_as_it_is(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process shows nothing in the first page of an answer, which had grown, and goes on behind it."""
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.GROWS_AFTER", 0.0)
    script.gates["supervisor"] = gate = Holding(1)
    script.add(
        supervisor=[
            "\n\n".join(f"Part {number} " + " ".join(f"word{place:03}" for place in range(437)) for number in range(2))
        ]
    )
    async with door(is_killed=True) as telegram:
        send, pages = telegram.sender._page, list[str]()

        async def stuck(to: object, page: object, *rest: object, **options: object) -> object:
            pages.append("page")
            if len(pages) == 2:
                await Gate(0).wait()
            return await send(to, page, *rest, **options)

        monkeypatch.setattr(telegram.sender, "_page", stuck)
        world.says(GROUP, "@sue_bot tell me all", user=ANN)
        await world.until(lambda: gate.holds and world.texts(GROUP))
        gate.set()
        await world.until(lambda: len(pages) == 2)
    assert len(world.texts(GROUP)) == 1
    async with door(Echo().models(ROLES)) as telegram:
        await world.until_sent(GROUP, 2, door=telegram)
    assert [text.split(" word")[0] for text in world.texts(GROUP)] == ["Part 0", "Part 1"]


async def test_a_growing_answer_is_replaced_after_a_restart(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shown part of an answer in a group becomes the answer after a restart; nothing stands there twice."""
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.GROWS_AFTER", 0.0)
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    async with door(is_killed=True) as telegram:
        await world.asks(GROUP, "@sue_bot hello", user=ANN, sent=1)
        await until_noted(telegram, f"telegram-{GROUP}")
    async with door(Echo().models(ROLES)) as telegram:
        await world.until(lambda: world.texts(GROUP) == ["hello"])
        await world.until(lambda: not telegram.chats.busy)
    assert world.texts(GROUP) == ["hello"]
