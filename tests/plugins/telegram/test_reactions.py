"""Reactions to answers: counted for the administrators, and a way to try again for who was answered."""

from app.plugins.telegram.door import TelegramDoor
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, labels
from tests.support.telegram_server import BotApi
from tests.support.until import until


async def signs(door: TelegramDoor) -> dict[str, int]:
    """Return the number of stored reactions of each kind."""
    return await door.assistant.memory.feedback.counts(0)


async def until_signs(door: TelegramDoor, number: int) -> None:
    """Wait until so many messages with reactions were dealt with."""

    async def are_dealt_with() -> bool:
        return sum((await signs(door)).values()) == number

    await until(are_dealt_with)


async def test_who_dislikes_an_answer_may_have_another(door: Open, world: BotApi, script: Script) -> None:
    """A thumb down offers to try again, also after a restart; the second answer is a turn of its own."""
    script.add(supervisor=["One.", "Two."])
    async with door():
        await world.asks(ANN, "count", sent=1)
    async with door() as telegram:
        world.reacts(world.sent[0], "👎")
        texts = await world.until_sent(ANN, 2)
        assert texts[1].startswith("Sorry that this was no help.")
        assert labels(world.sent[1]) == [["🔁 Try again"]]
        assert (await world.presses(world.sent[1], "🔁 Try again", sent=3))[2] == "Two."
        assert await signs(telegram) == {"👎": 1}


async def test_a_reaction_is_counted_once(door: Open, world: BotApi, script: Script) -> None:
    """The last one of a person counts, one that is taken back does not, and one to no answer is none."""
    script.add(supervisor=["One."])
    async with door() as telegram:
        asked = world.says(ANN, "count")
        await world.until_sent(ANN, 1, door=telegram)
        world.reacts(asked, "👍")
        for emoji in ("👍", "❤", "🔥"):
            world.reacts(world.sent[0], emoji)

        async def is_last() -> bool:
            return list(await signs(telegram)) == ["🔥"]

        await until(is_last)
        world.reacts(world.sent[0], "")
        await until_signs(telegram, 0)
    assert world.texts(ANN) == ["One."]


async def test_others_may_like_an_answer_and_not_have_it_made_anew(door: Open, world: BotApi, script: Script) -> None:
    """In a group everybody's reaction counts; only who was answered is offered another answer; strangers are nobody."""
    script.add(supervisor=["One."])
    async with door(allowed=[ANN, BOB]) as telegram:
        await world.asks(GROUP, "@sue_bot count", user=ANN, sent=1, door=telegram)
        world.reacts(world.sent[0], "👎", user=BOB)
        world.reacts(world.sent[0], "👎", user=99)
        await until_signs(telegram, 1)
        world.reacts(world.sent[0], "👎", user=ANN)
        texts = await world.until_sent(GROUP, 2)
        assert await signs(telegram) == {"👎": 2}
        await telegram.assistant.forgetting.thread(f"telegram-{GROUP}")
        assert await signs(telegram) == {}
    assert len(texts) == 2


async def test_an_offer_stands_in_the_topic_of_the_answer(door: Open, world: BotApi, script: Script) -> None:
    """Telegram does not say in which topic a reaction is; an answer of an earlier conversation has no way back."""
    script.add(supervisor=["One.", "Hello."])
    async with door() as telegram:
        await world.asks(ANN, "count", topic=5, sent=1, door=telegram)
        world.reacts(world.sent[0], "👎")
        await world.until_sent(ANN, 2)
        assert len(world.texts(ANN, topic=5)) == 2
        await world.asks(ANN, "/new", topic=5, sent=3, door=telegram)
        world.reacts(world.sent[0], "👍")
        world.reacts(world.sent[0], "💩")
        assert (await world.until_sent(ANN, 4))[3].endswith("Tell me what was wrong.")
    assert "reply_markup" not in world.sent[3]
