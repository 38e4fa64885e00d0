"""A conversation with choices and views, exported: to be read, as JSON, and as a test that plays it again."""

import json
from pathlib import Path

import pytest

from agents.toolkit.questions import CHOICE
from app.assistant import Turn
from app.composition import discover
from app.plugins.lab.trace_test import test_of as exported_test
from app.testing import Chat
from app.testing.script import Call
from tests.support.exports import Captured, exported
from tests.support.shop_tools import HAT, with_shop

pytestmark = pytest.mark.needs("planner", "standin")


@pytest.fixture(autouse=True)
def shop(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the conversation, and whoever plays it again, a shop."""

    def with_it() -> object:
        speakers, watching = discover()
        return with_shop(speakers), watching

    monkeypatch.setattr("app.plugins.lab.trace_test.discover", with_it)
    chat.speakers = with_shop(chat.speakers)


async def hold(chat: Chat) -> None:
    """Let the user see their orders, choose one by a tap, and fill in a form."""
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "send something back"})],
        planner=[
            Call("find_orders", {"name": "hat"}),
            "You have one hat.",
            [Call("choose_order"), Call("ask_address"), Call("sign_in")],
            [Call("submit_return", {"order": 1})],
            "Sent back.",
        ],
        observer=["stay"],
    )
    await chat.says("Did I order a hat?", "and please send one of those orders back")
    async with chat.assistant() as assistant:
        for text in ("Red hat", "street: Elm Street 5\nzip: 8001", "Done"):
            async for _ in assistant.play(Turn(thread="ann", text=text, source=CHOICE)):
                pass


async def plays(source: str, folder: Path) -> None:
    """Play an exported test in a new conversation with the shop; it must pass."""
    namespace: dict[str, object] = {}
    exec(compile(source, "exported", "exec"), namespace)
    again = Chat(folder / "again.db")
    again.speakers = with_shop(again.speakers)
    [test] = [value for name, value in namespace.items() if name.startswith("test_")]
    await test(again)  # type: ignore[operator]  # a function of the exported module
    assert again.script.left() == {}


@pytest.mark.needs("profile")
async def test_it_passes_as_a_test(chat: Chat, tmp_path: Path) -> None:
    """The test holds the whole conversation, asks what was asked, and passes where it is played."""
    await hold(chat)
    async with chat.assistant() as assistant:
        source, remark = await exported_test(assistant, "ann", "en")

    assert remark == ""
    assert "selector: Which order? [Blue shoes | Red hat | Green coat]\n        user: Red hat\n" in source
    assert "view: cards Orders\n" in source
    await plays(source, tmp_path)


async def test_it_can_be_read(chat: Chat, capsys: Captured) -> None:
    """The export has the views and the questions in words."""
    await hold(chat)
    await exported(chat)
    out = capsys.readouterr().out

    assert "> Orders\n> 1. Red hat — 15 EUR\n" in out
    assert "> Which order?\n> 1. Blue shoes — 60 EUR\n" in out
    assert "\n\n> Red hat\n\n" in out
    assert HAT not in out


async def test_it_keeps_what_the_model_said(chat: Chat, capsys: Captured) -> None:
    """A view and the model's own words below it are both there; a choice is marked as one."""
    await hold(chat)
    await exported(chat, form="json")
    contents = json.loads(capsys.readouterr().out)["contents"]

    assert contents[1]["content"] == "Orders\n1. Red hat — 15 EUR"
    assert contents[2]["content"] == "You have one hat."
    kinds = [content["metadata"].get("kind") for content in contents if content["role"] == "user"]
    assert kinds == [None] * 2 + ["choice"] * 3


async def test_what_has_changed_since_is_found_again(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that would answer otherwise by now gives its recorded answer, with the view it gave then."""
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "my orders"})],
        planner=[Call("find_orders", {"name": "hat"}), "You have one hat."],
    )
    await chat.says("Did I order a hat?")
    monkeypatch.setattr("tests.support.shop_tools.ORDERS", {HAT: ("Old hat", 1.0)})
    async with chat.assistant() as assistant:
        source, remark = await exported_test(assistant, "ann", "en")

    assert remark == ""
    assert "'kind': 'cards'" in source
    await plays(source, tmp_path)
