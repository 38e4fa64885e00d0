"""The assistant's list of its abilities."""

from typing import Any

import pytest

from app.composition.supervisor_tools import abilities
from app.testing import Chat

pytestmark = pytest.mark.needs("planner")


@pytest.mark.parametrize(("lang", "title"), [("en", "cook: cooking with the user;"), ("ru", "cook: cooking with")])
async def test_every_dialog_is_listed(lang: str, title: str) -> None:
    """A dialog without a line of its own is told of by its description."""
    dialogs = {"profile": "Used for the profile.", "cook": "Used for cooking with the user."}

    class Runtime:
        state: Any = {"lang": lang, "dialogs": dialogs}  # noqa: RUF012

    answer = await abilities.coroutine(runtime=Runtime())  # type: ignore[attr-defined]
    assert f"- {title}" in answer
    assert len([line for line in answer.splitlines() if line.startswith("- ")]) == 3


@pytest.mark.needs("profile")
async def test_the_dialogs_of_the_house_are_listed(chat: Chat) -> None:
    """A plain question for what can be done is answered from the dialogs that there are."""
    answer = await chat.says("what can you do")
    assert "keep your to-dos" in answer
    assert "get to know you" in answer
