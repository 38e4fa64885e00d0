"""Notes for a person: listed on the command line, delivered to the operators' chat in Telegram."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.cli import command_line
from app.composition.help_chain import model_link
from app.plugins.telegram import service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.delivery import posting
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
    monkeypatch.setattr(posting, "RETRY", 0.01)
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


@pytest.mark.parametrize(
    ("chain", "named"),
    [
        ("pages,oracle", "HELP_CHAIN"),
        ("person,pages", "HELP_CHAIN: Value error, person"),
        ("pages,pages", "HELP_CHAIN: Value error, name each link once"),
        ("webhook", "HELP_CHAIN: the link webhook needs HELP_WEBHOOK_URL"),
        ("model", "HELP_CHAIN: the link model needs HELP_MODEL"),
    ],
)
def test_a_chain_that_cannot_work_is_told_at_start(
    environment: pytest.MonkeyPatch, capsys: Captured, chain: str, named: str
) -> None:
    """One line on stderr that names the setting, and exit code 2."""
    environment.setenv("HELP_CHAIN", chain)
    assert command_line.main(["ask", "hi"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"python -m app: {named}")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "values",
    [
        {"HELP_MODEL": "local:rules"},
        {"HELP_MODEL": "openai:m"},
        {"HELP_WEBHOOK_URL": "ftp://here"},
        {"HELP_TIMEOUT": "60"},
        {"HELP_OPERATOR_CHAT": "@me"},
    ],
)
def test_a_link_that_is_set_up_wrongly_is_told_at_start(
    environment: pytest.MonkeyPatch, capsys: Captured, values: dict[str, str]
) -> None:
    """The setting is named; `check` finds it, too."""
    environment.setenv("HELP_CHAIN", "model")
    for name, value in values.items():
        environment.setenv(name, value)
    assert command_line.main(["check"]) == 2
    captured = capsys.readouterr()
    assert "HELP_" in captured.out + captured.err


def test_the_key_of_one_provider_is_not_given_to_another(environment: pytest.MonkeyPatch, capsys: Captured) -> None:
    """With an address of its own the model of the chain needs a key of its own, if any."""
    environment.setenv("HELP_CHAIN", "model")
    environment.setenv("HELP_MODEL", "openai:m")
    environment.setenv("OPENAI_API_KEY", "theirs")
    settings = Settings(_env_file=None, help_base_url="http://127.0.0.1:9/v1")
    assert "theirs" not in help_key(settings)
    assert "theirs" in help_key(Settings(_env_file=None))


def help_key(settings: Settings) -> str:
    """Return the key that the model of the chain is asked with."""
    key = model_link(settings).model.chat.openai_api_key  # type: ignore[attr-defined]  # every such model has one
    return str(key.get_secret_value())
