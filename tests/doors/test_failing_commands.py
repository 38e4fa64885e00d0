"""A slash command, a greeting or an export of a plug-in that fails costs one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.services import Services
from app.doors.slash_commands import of_dialog
from app.doors.slash_commands.personal_data import as_json, as_markdown, personal_data
from app.extensions import Extensions, use
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


PLUGIN = """from agents.plugin import Plugin, Section


async def export(services, user, lang):
    return {outcome}


async def greeting(services, user, lang):
    return {greeting}


plugin = Plugin(export=export, greeting=greeting)
"""
BROUGHT = {
    "quota": ('[Section("quota", "Your calls", [{"calls": 3}], ["3 calls"])]', '"Good to see you."'),
    "jammed": ("1 / 0", "1 / 0"),
    "leaving": ("exit()", "exit()"),
    "unfit": ('["no section"]', "7"),
}


async def test_what_a_plugin_keeps_of_a_person_is_handed_out(chat: Chat, tmp_path: Path) -> None:
    """An export says whose data it lacks; a greeting comes from a plug-in as from a dialog."""
    (tmp_path / "plugins").mkdir()
    for name, (outcome, greeting) in BROUGHT.items():
        (tmp_path / "plugins" / f"{name}.py").write_text(PLUGIN.format(outcome=outcome, greeting=greeting), "utf-8")
    try:
        use(Extensions(_env_file=None, extensions=(tmp_path,)))
        async with chat.assistant() as assistant:
            data = await personal_data(assistant, "ann", "en")
            greeting = await assistant.greeting("ann", "en")
    finally:
        use(Extensions(_env_file=None))
    assert "Good to see you.\n\n7" in greeting
    plain = json.loads(as_json(data))
    assert (plain["quota"], plain["unread"]) == ([{"calls": 3}], ["jammed", "leaving", "unfit"])
    text = as_markdown(data, "en")
    assert "What is missing: jammed, leaving, unfit." in text
    assert "## Your calls\n\n- 3 calls" in text
