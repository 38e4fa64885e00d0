"""A slash command or a greeting of a plug-in that fails costs one sentence."""

from typing import Any

import pytest

from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.services import Services
from app.doors.slash_commands import of_dialog
from app.testing import Chat
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.terminal_visit import visit_to


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (LookupError("no licence"), phrase("sorry_internal", "en")),
        (SystemExit(3), phrase("sorry_internal", "en")),
        ("half \ud83d", "half \ufffd"),
    ],
)
@pytest.mark.needs("profile")
async def test_a_command_that_fails_says_so(
    chat: Chat, caplog: pytest.LogCaptureFixture, outcome: Any, told: str
) -> None:
    """The developer reads the error with the thread; the door goes on, also where the greeting fails."""

    async def answer(*_: object) -> str:
        if isinstance(outcome, BaseException):
            raise outcome
        return str(outcome)

    async def run(call: CommandCall) -> str:
        return await answer()

    async def greet(services: Services, user: str, lang: str) -> str:
        return await answer()

    def describe(lang: str) -> str:
        if isinstance(outcome, BaseException):
            raise outcome
        return str(outcome)

    command = of_dialog(SlashCommand(name="fly", run=run, description=describe))
    chat.speakers = changed(chat.speakers, "profile", greeting=greet)
    async with chat.assistant() as assistant:
        visit = visit_to(assistant, "ann")
        assert await command.run(visit, "", "en") == told
        greeting = await assistant.greeting("ann", "en")
    assert command.description("en") == greeting
    assert greeting == ("" if isinstance(outcome, BaseException) else told)
    failed = [record.getMessage() for record in caplog.records if record.exc_info]
    wanted = ["thread ann: the command /fly failed", "the greeting of profile failed"]
    wanted.append("the description of the command /fly failed")
    assert failed == (wanted if isinstance(outcome, BaseException) else [])
