"""Lessons of a session of the desk: examples on cards, and the ranker's and the gate's results before and after."""

import asyncio
import json
from pathlib import Path

import pytest

from app.cli import command_line
from app.plugins.lab.desk import Desk
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.lessons import lessons_of
from app.settings import Settings
from tests.plugins.lab.test_desk import model, sitting, user

pytestmark = pytest.mark.needs("orders")


async def play(desk: Desk) -> None:
    """Ask for orders in words that no card has, and leave the shop in the end."""
    await user(desk, "Which of my orders has the bottle?")
    await model(desk, handle_orders={"brief": "the bottle"})
    await model(desk, list_orders={})
    await model(desk, "It is in the first one.")
    await user(desk, "Unfold the contents of D1001 for me")
    await model(desk, get_order_details={"order_id": "D1001"})
    await model(desk, "Boots and a bottle.")
    await user(desk, "My neighbour 7f9c-11 wants to see his")
    await model(desk, list_orders={})
    await model(desk, "I can only show yours.")
    await user(desk, "That will do, tell me a joke instead")
    await model(desk, hand_back={"wish": "a joke"})
    await model(desk, "A horse walks into a bar.")


async def test_a_message_is_an_example_without_identifiers(settings: Settings) -> None:
    """An identifier that a call took becomes a slot; a message that keeps one is no example."""
    async with sitting(settings, DeskSession(lang="en")) as desk:
        await play(desk)
        lessons = lessons_of(desk)
    assert [(lesson.tool, lesson.example) for lesson in lessons] == [
        ("list_orders", "Which of my orders has the bottle?"),
        ("get_order_details", "Unfold the contents of {order_id} for me"),
        ("list_orders", ""),
        ("", ""),
    ]
    assert [lesson.leaves for lesson in lessons] == [False, False, False, True]
    assert [lesson.scene and lesson.scene.dialog for lesson in lessons] == [None, "orders", "orders", "orders"]


async def played(settings: Settings) -> None:
    """Play the session, and close it."""
    async with sitting(settings, DeskSession(lang="en")) as desk:
        await play(desk)


@pytest.mark.slow
def test_the_command_teaches(settings: Settings, house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`lab desk teach` shows the figures before and after, and writes the cards only when asked to."""
    asyncio.run(played(settings))
    [card] = house.glob("en/**/cards/get_order_details.md")
    before = card.read_text("utf-8")
    assert command_line.main(["lab", "desk", "teach", "--json"]) == 0
    assert card.read_text("utf-8") == before
    shown = json.loads(capsys.readouterr().out)
    assert "+ get_order_details (en): Unfold the contents of {order_id} for me" in shown["examples"]
    own, others, stays, leaves = shown["figures"]
    assert (own["judged"], stays["judged"], leaves["judged"]) == (3, 2, 1)
    assert own["after"] >= own["before"]
    assert others["judged"] > 300
    assert others["after"] > 0.97 * others["before"]
    assert command_line.main(["lab", "desk", "teach", "bottle", "--apply"]) == 0
    assert card.read_text("utf-8") == f"{before}- Unfold the contents of {{order_id}} for me\n"
    assert command_line.main(["lab", "desk", "teach", "nobody"]) == 2
    capsys.readouterr()
