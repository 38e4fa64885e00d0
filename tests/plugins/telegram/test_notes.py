"""Notes for a person: listed on the command line, delivered to the operators' chat in Telegram."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.cli import command_line
from app.plugins.telegram import service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.delivery import operator_posts
from app.plugins.telegram.settings import TelegramSettings
from app.settings import Settings
from app.testing.script import Call, Script
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_server import TOKEN, BotApi, refusal

ANN, OPERATOR = 11, -500
EVEREST = "How tall is Mount Everest?"
HELP = Call("assistant_help", {"query": EVEREST})
Captured = pytest.CaptureFixture[str]


@asynccontextmanager
async def door(path: Path, world: BotApi, script: Script) -> AsyncIterator[None]:
    """Open the Telegram door with a person as the last link of help."""
    settings = Settings.model_validate({"_env_file": None, "help_chain": "pages,person"})
    own = TelegramSettings(help_operator_chat=OPERATOR, telegram_allowed_users="*")
    bot = ServiceBot(TOKEN, world.url)
    async with (
        stage(path, script.models(ROLES), settings) as assistant,
        service.open_door(assistant, bot, settings, own),
    ):
        yield


async def test_a_person_is_told_in_telegram(tmp_path: Path, world: BotApi) -> None:
    """The operators' chat learns who asked what, once; the user is told so by the assistant."""
    script = Script()
    script.add(supervisor=[HELP, "I have told a person."])
    async with door(tmp_path / "t.db", world, script):
        assert await world.asks(ANN, EVEREST, sent=1) == ["I have told a person."]
        [note] = await world.until_sent(OPERATOR, 1)
    assert note.startswith(f"telegram-{ANN} asked on ")
    assert note.endswith(EVEREST)
    async with door(tmp_path / "t.db", world, script):
        await world.asks(ANN, "/state", sent=2)
    assert len(world.texts(OPERATOR)) == 1


async def test_a_note_waits_until_it_can_be_delivered(
    tmp_path: Path, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a door that is closed nor a Telegram that refuses loses a note."""
    monkeypatch.setattr(operator_posts, "RETRY", 0.01)
    async with stage(tmp_path / "t.db", Script().models(ROLES)) as assistant:
        await assistant.memory.notes.add("me", f"{EVEREST} <b>*_", "call", "me", 20)
    world.fail("sendMessage", refusal(429, "Too Many Requests: retry after 0", retry_after=0))
    world.fail("sendMessage", refusal(400, "Bad Request: chat not found"))
    world.fail("sendMessage", refusal(500, "Internal Server Error"))
    async with door(tmp_path / "t.db", world, Script()):
        [note] = await world.until_sent(OPERATOR, 1)
    assert note.endswith(f"{EVEREST} <b>*_")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A folder without any .env, and a chain that ends with a person."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("HELP_CHAIN", "pages, person")
    return monkeypatch


@pytest.mark.needs("standin")
@pytest.mark.parametrize(
    ("lang", "question", "told"),
    [
        ("en", EVEREST, "passed the question on to a person"),
        ("ru", "Какая столица Франции?", "передал вопрос человеку"),
    ],
)
def test_a_person_is_told_on_the_command_line(
    environment: pytest.MonkeyPatch, capsys: Captured, lang: str, question: str, told: str
) -> None:
    """The command `notes` lists the unanswered questions, for people and as JSON."""
    assert command_line.main(["notes"]) == 0
    assert capsys.readouterr().out == "Nothing was passed on to a person yet.\n"
    assert command_line.main(["ask", question, "--thread", "ann", "--lang", lang]) == 0
    assert told in capsys.readouterr().out
    assert command_line.main(["notes"]) == 0
    assert question in capsys.readouterr().out
    assert command_line.main(["notes", "--json"]) == 0
    [note] = json.loads(capsys.readouterr().out)
    assert (note["thread"], note["text"], note["delivered_ms"]) == ("ann", question, None)
