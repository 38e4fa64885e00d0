"""A person in the assistant's place, in Telegram: called, taken over from the operators' chat, answered, and back."""

from functools import partial
from typing import Any

import pytest

pytest.importorskip("app.plugins.seat")

from app.plugins.seat import SeatSettings
from app.plugins.seat.place import Operator
from app.plugins.seat.posts import Posts
from app.plugins.seat.seats import Seats, take_seat
from app.plugins.telegram.updates import operator_posts
from app.testing.script import Script
from prompts import sentence
from tests.plugins.telegram.people import Open
from tests.support.scripted_assistant import script_lines
from tests.support.telegram_server import BotApi
from tests.support.until import until

ANN, CHAT = 11, -500
THREAD = f"telegram-{ANN}"
TAKE, FORCE, BACK = (sentence("seat/phrases", f"chat.button_{name}", "en") for name in ("take", "force", "back"))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for news at once."""
    monkeypatch.setattr(operator_posts, "LOOK", 0.02)


def chat(*people: int) -> SeatSettings:
    """Return the chat of the operators, in which these people may take over."""
    return SeatSettings(operator_chat=CHAT, operator_users=frozenset(people))


async def post(world: BotApi, text: str) -> dict[str, Any]:
    """Return the post to the operators that has this text, once it is there."""

    def posted() -> list[dict[str, Any]]:
        return [message for message in world.sent if message["chat"]["id"] == CHAT and text in message["text"]]

    await world.until(posted)
    return posted()[-1]


async def test_over_answer_and_back(world: BotApi, door: Open, script: Script) -> None:
    """A user calls; a tap takes over, the user's messages come as posts, an answer to a post goes to the user."""
    script.add(supervisor=["Hello.", "On Monday."])
    async with door(allowed=[ANN], given=[chat(77)]) as telegram:
        telegram.assistant.services.get(Seats).wait = 60
        await world.asks(ANN, "hi", sent=1)
        assert (await world.asks(ANN, "/person my lamp", sent=2))[1] == sentence("seat/phrases", "called_by_user", "en")
        call = await post(world, "my lamp")
        assert "Hello." in call["text"]
        world.taps(call, TAKE, user=78)
        world.says(CHAT, "not me", answers=call, user=78)
        await world.until(lambda: not world.waiting)
        assert (await telegram.assistant.services.get(Seats).all())[0].holder == ""
        world.taps(call, TAKE, user=77)
        taken = await post(world, "now")
        assert (await world.until_sent(ANN, 3))[2].endswith("The assistant is silent meanwhile.")
        world.says(ANN, "it is broken")
        sent_message = await post(world, "it is broken")
        posts = Posts(telegram.assistant.memory.database, CHAT)
        await until(partial(posts.thread_of, sent_message["message_id"]))
    async with door(allowed=[ANN], given=[chat(77, 79)]) as telegram:
        name = (await telegram.assistant.services.get(Seats).all())[0].holder
        world.says(CHAT, "Not from me.", answers=sent_message, user=79, writer={"first_name": name})
        await post(world, f"{name} holds {THREAD}")
        world.says(CHAT, "A new one comes.", answers=sent_message, user=77, writer={"first_name": name})
        assert (await world.until_sent(ANN, 4))[3] == f"{name}: A new one comes."
        world.says(CHAT, "/back gets a new lamp", answers=taken, user=77, writer={"first_name": name})
        assert (await world.until_sent(ANN, 5))[4] == sentence("seat/phrases", "back", "en")
        await post(world, "is back with the assistant")
        assert (await world.asks(ANN, "when?", sent=6))[5] == "On Monday."
        assert "gets a new lamp" in script.asked[-1].messages[-1].text
        assert (await script_lines(telegram.assistant, THREAD))[2:6] == [
            *(f"supervisor: {sentence('seat/phrases', 'taken', 'en', name=name)}", "user: it is broken"),
            *(f"{name}: A new one comes.", f"supervisor: {sentence('seat/phrases', 'back', 'en')}"),
        ]


async def test_a_second_operator(world: BotApi, door: Open, script: Script) -> None:
    """A second operator reads the holder of the thread, and may take it; a post about it offers the way back."""
    script.add(supervisor=["Hello."])
    async with door(given=[SeatSettings(operator_chat=CHAT)]) as telegram:
        await world.asks(ANN, "hi", sent=1)
        await telegram.assistant.services.get(Seats).call(THREAD, THREAD, "en", "assistant", "angry")
        call = await post(world, "angry")
        await take_seat(telegram.assistant, THREAD, Operator("Cleo", "desk"))
        await post(world, "Cleo has taken")
        world.taps(call, TAKE, user=78)
        holds = await post(world, f"Cleo holds {THREAD}")
        world.says(CHAT, "hello?", answers=call, user=78)
        world.taps(holds, FORCE, user=78)
        taken = await post(world, "Ann has")
        world.taps(taken, BACK, user=78)
        await post(world, "is back with the assistant")
        assert await telegram.assistant.services.get(Seats).all() == []
        assert "hello?" not in "".join(await script_lines(telegram.assistant, THREAD))
