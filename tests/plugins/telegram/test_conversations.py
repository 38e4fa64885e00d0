"""Several conversations in one chat: begun by /new, listed by /threads, gone back to by a button."""

from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, labels, until_stored
from tests.support.scripted_assistant import ROLES, Echo, Gate, Holding, todos
from tests.support.telegram_server import BotApi

ADMINS_ONLY = "only an administrator of the group can do it"


async def said(door: object, thread: str) -> list[str]:
    """Return the users' messages of a thread."""
    lines = await door.assistant.history(thread)  # type: ignore[attr-defined]
    return [line.text for line in lines if line.role == "user"]


async def test_new_begins_another_conversation(door: Open, world: BotApi, script: Script) -> None:
    """It begins with a greeting and knows nothing of the one before, which a button brings back."""
    script.add(supervisor=["One.", "Hello, who are you?", "Two.", "Three."])
    async with door() as telegram:
        await world.asks(ANN, "the first words", sent=1)
        world.says(ANN, "/new")
        texts = await world.asks(ANN, "others", sent=3)
        assert texts[1:] == ["Hello, who are you?", "Two."]
        assert "first words" not in str([message.text for message in script.asked[-1].messages])
        await world.until(lambda: not telegram.chats.busy)
        assert await said(telegram, "telegram-11~2") == ["others"]
    async with door() as telegram:
        await world.asks(ANN, "/threads", sent=4)
        assert "others" in world.texts(ANN)[3]
        assert labels(world.sent[3]) == [["the first words"]]
        world.taps(world.sent[3], "the first words")
        assert (await world.until_sent(ANN, 5))[4] == "This is conversation 1. /threads shows the others."
        await world.asks(ANN, "again", sent=6, door=telegram)
        assert await said(telegram, "telegram-11") == ["the first words", "again"]
        assert "the first words" in str([message.text for message in script.asked[-1].messages])


async def test_new_ends_the_running_answer_and_outlives_a_kill(door: Open, world: BotApi, script: Script) -> None:
    """Earlier messages stay in their conversation; later ones go to the new conversation, and once."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    async with door(is_killed=True) as telegram:
        world.says(ANN, "one")
        await world.until(lambda: script.asked)
        command = world.says(ANN, "/new")
        world.says(ANN, "two")
        await world.until(lambda: telegram.names.thread(ANN) == "telegram-11~2")
        await until_stored(telegram, "telegram-11~2", 2)
    async with door(Echo().models(ROLES)) as telegram:
        texts = await world.until_sent(ANN, 3, door=telegram)
        assert await said(telegram, "telegram-11") == ["one"]
        assert await said(telegram, "telegram-11~2") == ["two"]
        world.bring({"message": command})
        await world.asks(ANN, "three", sent=4)
        assert telegram.names.thread(ANN) == "telegram-11~2"
    assert texts == ["one", "Hello, who are you?", "two"]


async def test_each_new_is_one_conversation(door: Open, world: BotApi, script: Script) -> None:
    """Twice /new and a text behind a running answer begin two conversations; each greets once and has its text."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two", "Hello two.", "Two.", "Hello three.", "Three."])
    async with door() as telegram:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        for text in ("/new", "second", "/new", "third"):
            last = world.says(ANN, text)
        await world.until(lambda: world.offset > last["message_id"])
        script.gates.clear()
        gate.set()
        assert (await world.until_sent(ANN, 5, door=telegram))[1:] == ["Hello two.", "Two.", "Hello three.", "Three."]
        assert [await said(telegram, f"telegram-11~{number}") for number in (2, 3, 4)] == [["second"], ["third"], []]
        assert telegram.names.thread(ANN) == "telegram-11~3"


async def test_in_a_group_a_text_behind_new_is_of_the_new_conversation(door: Open, world: BotApi) -> None:
    """Also when both arrive at once, and Telegram is asked first who administers the group."""
    world.chats.admins[GROUP] = [BOB]
    async with door(Echo().models(ROLES)) as telegram:
        for user, texts in ((BOB, ("/new@sue_bot", "@sue_bot second")), (ANN, ("/new@sue_bot", "/new@sue_bot"))):
            for text in texts:
                world.says(GROUP, text, user=user)
        await world.until_sent(GROUP, 4, door=telegram)
        assert await said(telegram, f"telegram-{GROUP}~2") == ["second"]
    assert world.methods().count("getChatMember") == 2


async def test_in_a_group_administrators_begin_conversations(door: Open, world: BotApi) -> None:
    """A member reads a friendly line; Telegram tells who administers the group."""
    world.chats.admins[GROUP] = [BOB]
    async with door(Echo().models(ROLES)) as telegram:
        world.says(GROUP, "@sue_bot anns word", user=ANN)
        assert ADMINS_ONLY in (await world.asks(GROUP, "/new@sue_bot", user=ANN, sent=2))[1]
        for _ in range(2):
            world.says(GROUP, "/new@sue_bot", user=BOB)
        await world.until(lambda: telegram.names.thread(GROUP) == f"telegram-{GROUP}~3")
        await world.until(lambda: not telegram.chats.busy)
        world.says(GROUP, "@sue_bot anns other word", user=ANN)
        await world.until(lambda: "anns other word" in str(world.texts(GROUP)))
        await world.until(lambda: not telegram.chats.busy)
        await world.asks(ANN, "anns secret", sent=1)
        world.says(GROUP, "/threads@sue_bot", user=ANN)
        await world.until(lambda: "anns word" in world.texts(GROUP)[-1])
    assert "secret" not in str(world.texts(GROUP))


async def test_what_all_have_said_is_forgotten_by_an_administrator(door: Open, world: BotApi) -> None:
    """Not by a member; the talk goes, and nobody loses what is kept of them, also if they were the only one."""
    world.chats.admins[GROUP] = [BOB]
    async with door(Echo().models(ROLES)) as telegram:
        await telegram.assistant.memory.store.aput(
            ("users", "telegram-11", "todos"), "a", {"number": 1, "text": "milk"}
        )
        await world.asks(GROUP, "@sue_bot anns word", user=ANN, sent=1)
        assert ADMINS_ONLY in (await world.asks(GROUP, "/forget@sue_bot all yes", user=ANN, sent=2))[1]
        assert "what everybody said here" in (await world.asks(GROUP, "/forget@sue_bot all", user=BOB, sent=3))[2]
        assert "is deleted" in (await world.presses(world.sent[2], "Yes, do it", user=BOB, sent=4))[3]
        assert await telegram.assistant.history(f"telegram-{GROUP}") == []
        assert await todos(telegram.assistant, "telegram-11") == ["milk"]
