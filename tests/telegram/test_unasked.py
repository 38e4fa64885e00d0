"""What comes to a Telegram chat by itself: reminders, on time, late, and to those who were away."""

from agents.models.script import Call, Script
from tests.bot_api import BotApi
from tests.telegram.people import ANN, BOB, PLAN, Open


async def test_the_application_speaks_unasked(door: Open, world: BotApi) -> None:
    """A text for a chat's thread arrives by itself; what cannot arrive is told as such."""
    async with door() as one:
        assert await one.tell(f"telegram-{ANN}", "Time for **tea**")
        world.blocked.add(BOB)
        assert not await one.tell(f"telegram-{BOB}", "Time for tea")
        assert not await one.tell("me", "Time for tea")
    assert world.texts(ANN) == ["Time for tea"]
    assert world.sent[0]["entities"] == [{"type": "bold", "offset": 9, "length": 3}]


async def test_a_reminder_arrives_by_itself(door: Open, world: BotApi, script: Script) -> None:
    """A reminder that a chat has set comes to it once when it is due, and stands in its transcript."""
    reminder = Call("add_reminder", {"when": "in 1 second", "text": "tea"})
    script.add(supervisor=[PLAN], planner=[reminder, "It is set."])
    async with door() as one:
        world.says(ANN, "Remind me of the tea, please")
        assert await world.until_sent(ANN, 2) == ["It is set.", "⏰ tea"]
        lines = await one.assistant.memory.transcript.lines(f"telegram-{ANN}")
        assert lines[-1].text == "⏰ tea"
    async with door():
        pass
    assert len(world.texts(ANN)) == 2
