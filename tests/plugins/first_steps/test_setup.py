"""`setup`: servers are found, a model is tried for real, and `.env` is written with care."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from dotenv import dotenv_values
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Match, Reply, ToolCall
from pydantic_settings import BaseSettings

from agents.errors import ConfigError, ContractError, UsageError
from agents.models.factory import FORMS
from agents.plugin import Plugin
from app.cli.command_line import main
from app.composition import dialogs_of
from app.plugins.first_steps.env_file import write_env
from app.plugins.first_steps.setup import set_up_model
from app.process.files import read_env
from app.settings import Settings, read, read_settings
from dialogs import Dialog
from tests.support.endpoint_talk import calm
from tests.support.odd_provider import Chunk, Provider, call, refuse, words
from tests.support.refusing_server import refusing
from tests.support.small_window import SmallServer
from tests.support.wire_forms import deepseek

Captured = pytest.CaptureFixture[str]
CALLS = call("current_time", "{}")
NO = {"message": "no"}


def serving(*models: str, reply: Sequence[Chunk] | bytes = tuple(CALLS)) -> SmallServer:
    """Return a server that lists its models, and answers alike whatever it is asked."""
    return SmallServer(lambda body: reply, 100_000, tells=False, models=models or ("tiny",))


class Person:
    """Gives prepared answers, and remembers what was asked, and what in secret."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.secret: list[str] = []

    async def __call__(self, question: str, secret: bool) -> str:
        """Answer a question."""
        (self.secret if secret else self.asked).append(question)
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with nothing set."""
    monkeypatch.chdir(tmp_path)
    for name in ("LLM_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "APP_LANG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def run(
    person: Person | None = None,
    places: Sequence[int] = (),
    *,
    brought: Mapping[str, Plugin] = MappingProxyType({}),
    model: str = "",
    base_url: str = "",
    yes: bool = False,
) -> int:
    """Run the command, with servers at these ports of this machine, and plug-ins that bring steps."""
    with pytest.MonkeyPatch.context() as patch:
        known = [(f"Server {number}", port) for number, port in enumerate(places, 1)]
        patch.setattr("app.plugins.first_steps.model_servers.PLACES", known)
        patch.setattr("app.plugins.first_steps.setup.plugins_found", lambda: brought)
        return await set_up_model(Settings(), model, base_url, person, asks_nothing=yes)


async def test_a_server_of_this_machine_is_found_and_written(home: Path, capsys: Captured) -> None:
    """Choose the second server and one of its models; it is tried, and `.env` leads there."""
    async with serving().open() as first, serving("small", "large").open() as second:
        person = Person("7", "2", "medium", "large")
        assert await run(person, [first.port, 1, second.port]) == 0

    told = capsys.readouterr().out
    assert f"2  Server 3 · {second.url} · models: small, large" in told
    assert "There is no 7." in told
    assert "There is no 'medium'." in told
    assert "It answers and calls tools: ready." in told
    assert dotenv_values(home / ".env") == {"LLM_MODEL": "openai:large", "OPENAI_BASE_URL": second.url}
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert first.keys == []


async def test_the_models_of_an_address_are_listed(home: Path, capsys: Captured) -> None:
    """They can be named or numbered; nothing is no answer, and a name that is not listed may be right as well."""
    async with serving("small", "large").open() as server:
        assert await run(Person(server.url, "sk-secret", "", "7", "2"), [1]) == 0
        assert dotenv_values(home / ".env")["LLM_MODEL"] == "openai:small"
        assert await run(Person("", "preview", "y"), base_url=server.url) == 0
    told = capsys.readouterr().out
    assert "   1  large\n   2  small\n" in told
    assert "There is no '7'." in told
    assert "Its name is needed" in told
    assert dotenv_values(home / ".env")["LLM_MODEL"] == "openai:preview"
    assert server.keys[0] == "sk-secret"


async def test_another_provider_is_asked_for(home: Path, capsys: Captured) -> None:
    """Nobody answers here: address, key and model are asked for, the key in secret, and nothing shows it."""
    async with serving().open() as server:
        person = Person(server.url, "sk-secret", "tiny")
        assert await run(person, [1]) == 0

    assert len(person.secret) == 1
    told = capsys.readouterr()
    assert "None answers here." in told.out
    assert "sk-secret" not in told.out + told.err + "".join(person.asked)
    assert {*server.keys} == {"sk-secret"}
    assert dotenv_values(home / ".env")["OPENAI_API_KEY"] == "sk-secret"


@pytest.mark.parametrize(
    ("server", "code", "told"),
    [
        (serving(reply=refuse(401, NO)), 76, "The key was refused."),
        (serving(reply=refuse(429, NO)), 75, "The provider is busy"),
        (serving(reply=refuse(404, NO)), 77, "No answer"),
        (serving(reply=refuse(402, NO)), 77, "refuses the request"),
        (serving(reply=[{"error": {"message": "Unauthorized"}}]), 76, "The key was refused."),
        (serving(reply=[]), 75, "The provider is busy"),
    ],
)
async def test_a_model_that_does_not_answer_is_not_written(
    home: Path, capsys: Captured, server: SmallServer, code: int, told: str
) -> None:
    """The verdict says why, the exit code too; scripts get no file, and a person may insist."""
    async with server.open():
        assert await run(model="tiny", base_url=server.url, yes=True) == code
        assert not (home / ".env").exists()
        assert await run(Person("", "n"), model="tiny", base_url=server.url) == code
        assert await run(Person("", "y"), model="tiny", base_url=server.url) == 0
    assert told in capsys.readouterr().out


async def test_a_model_that_calls_no_tools_is_told(capsys: Captured) -> None:
    """It can be set up, but whoever does so knows that dialogs may not begin."""
    async with serving(reply=words("It is ten.")).open() as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
    assert "did not call the tool" in capsys.readouterr().out


async def test_openai_needs_a_key(capsys: Captured) -> None:
    """Without an address and a key nothing is asked over the network."""
    assert await run(model="gpt", yes=True) == 1
    assert "needs a key" in capsys.readouterr().out


async def test_other_settings_stay(home: Path, capsys: Captured) -> None:
    """Comments and other lines are kept; a value is replaced only when that was agreed to."""
    before = "# mine\nAPP_LANG=ru\nexport LLM_MODEL=openai:old\n\nLLM_MODEL='openai:older'  \nX=1"
    (home / ".env").write_text(before)
    async with serving().open() as server:
        assert await run(Person("", "n"), model="tiny", base_url=server.url) == 1
        assert (home / ".env").read_text() == before
        assert await run(Person("", "y"), model="tiny", base_url=server.url) == 0
    assert (home / ".env").read_text() == (
        f"# mine\nAPP_LANG=ru\n\nLLM_MODEL=openai:tiny\nX=1\nOPENAI_BASE_URL={server.url}\n"
    )


async def test_the_environment_counts_more(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A variable of the shell that would win over the file is named."""
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    async with serving().open() as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
    assert "Mind: LLM_MODEL in the environment" in capsys.readouterr().out


def strict(body: dict[str, Any]) -> Sequence[Chunk] | bytes:
    """Answer what a strict chat template takes: a system message, a user's, then a call and its result."""
    roles = [message["role"] for message in body["messages"]]
    is_taken = roles == ["system", "user", "assistant", "tool"][: max(2, len(roles))]
    return CALLS if is_taken else refuse(400, {"message": "Conversation roles must alternate"})


async def test_a_strict_template_takes_the_trial(home: Path, capsys: Captured) -> None:
    """Setup shows a server's own window; a server with a single slot gets its observers before the dialog."""
    async with SmallServer(strict, 8192).open() as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
    told = capsys.readouterr().out
    assert "The model's window: 8,192 tokens." in told
    assert "one request at a time" in told
    assert dotenv_values(home / ".env")["OBSERVERS_ASKED"] == "first"


async def test_what_a_trial_learns_is_written(home: Path, capsys: Captured) -> None:
    """The next start asks without what was refused; other parameters stay, and another address begins anew."""

    def answer(body: dict[str, Any]) -> Sequence[Chunk] | bytes:
        is_word = body["messages"][-1]["content"].endswith("stay")
        reply = refusing("prompt_cache_key", "stream_options", text="stay")(body)
        return reply if isinstance(reply, bytes) or is_word else CALLS

    (home / ".env").write_text('LLM_PARAMETERS={"default": {"temperature": 0.5}, "observer": {"max_tokens": 9}}\n')
    async with Provider.open(answer) as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
        assert "prompt_cache_key, stream_options" in capsys.readouterr().out
        written = json.loads(read_env(home / ".env")["LLM_PARAMETERS"])
        without = ["prompt_cache_key", "stream_options"]
        assert written == {"default": {"temperature": 0.5, "without": without}, "observer": {"max_tokens": 9}}
        FORMS.clear()
        asked = len(server.bodies)
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
        assert len(server.bodies) == asked + 3
        assert {body["temperature"] for body in server.bodies} == {0.5}
    async with serving().open() as other:
        assert await run(model="tiny", base_url=other.url, yes=True) == 0
    assert "without" not in json.loads(read_env(home / ".env")["LLM_PARAMETERS"])["default"]


async def test_what_a_server_wants_in_replies_is_written(home: Path) -> None:
    """A field of thinking that it misses once is there from the first request of the next start."""
    async with Provider.open(deepseek) as server:
        for refused in (1, 0):
            FORMS.clear()
            asked = len(server.bodies)
            assert await run(model="tiny", base_url=server.url, yes=True) == 0
            assert len(server.bodies) == asked + 3 + refused
    written = json.loads(read_env(home / ".env")["LLM_PARAMETERS"])
    assert written == {"default": {"wanted": ["reasoning_content"]}}


async def test_a_call_that_the_model_did_not_make_may_be_refused(home: Path, capsys: Captured) -> None:
    """A provider that wants its own signature back cannot take one that we made up; its own calls have theirs."""

    def answer(body: dict[str, Any]) -> Sequence[Chunk] | bytes:
        has_call = any(message.get("tool_calls") for message in body["messages"])
        return refuse(400, {"message": "reasoning details must be preserved"}) if has_call else words("It is ten.")

    async with Provider.open(answer) as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
    assert dotenv_values(home / ".env")["LLM_MODEL"] == "openai:tiny"


async def test_parameters_of_the_environment_are_tried_and_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial asks with them, as turns do, and what it learns stands beside them."""
    monkeypatch.setenv("LLM_PARAMETERS", '{"default": {"temperature": 0.5}}')
    async with Provider.open(refusing("prompt_cache_key", text="stay")) as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
        assert {body["temperature"] for body in server.bodies} == {0.5}
    written = json.loads(read_env(home / ".env")["LLM_PARAMETERS"])
    assert written == {"default": {"temperature": 0.5, "without": ["prompt_cache_key"]}}


@pytest.mark.parametrize("provider", ["azure_openai", "perplexity"])
async def test_a_provider_that_needs_more_than_a_key_is_asked_itself(
    home: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """Its client reads all of it from the environment; a name that is only a model's goes to OpenAI."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-04-01-preview")
    async with serving().open() as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        if provider == "azure_openai":
            assert await run(model=f"{provider}:m", yes=True) == 0
            assert dotenv_values(home / ".env") == {"LLM_MODEL": f"{provider}:m"}
        else:
            with pytest.raises(ConfigError, match=f"{provider}: models need a package"):
                await run(model=f"{provider}:m", yes=True)


@pytest.mark.needs("orders")
async def test_a_small_window_is_told_dialog_by_dialog(home: Path, capsys: Captured) -> None:
    """Setup names the dialogs that do not fit; several slots need no setting."""
    async with SmallServer(strict, 2048, slots=4).open() as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 0
    told = capsys.readouterr().out
    assert "orders needs a window of" in told
    assert "answers 4 requests at a time" in told
    assert "OBSERVERS_ASKED" not in dotenv_values(home / ".env")


async def test_a_server_says_what_it_refuses(home: Path, capsys: Captured) -> None:
    """Its own words are shown, without a key that they repeat; the address is not blamed."""
    refusal = refuse(400, {"message": "tools need --jinja\n(key sk-abcdefgh12345)"})
    async with SmallServer(lambda body: refusal, 4096).open() as server:
        assert await run(model="tiny", base_url=server.url, yes=True) == 77
    told = capsys.readouterr().out
    assert "HTTP 400: tools need --jinja (key …" in told
    assert "sk-" not in told
    assert "address or the model" not in told


def test_ctrl_d_is_one_line_wherever_it_comes(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """No command answers the end of its input with a traceback."""

    def ended(arguments: Sequence[str]) -> int:
        raise EOFError

    monkeypatch.setattr("app.cli.command_line._run", ended)
    assert main(["chat"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_everybody_reads_what_was_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dialogs' settings and the application's stand in one file, and none stumbles over another's."""
    monkeypatch.setitem(Settings.model_config, "env_file", ".env")
    kinds = [dialog.settings for dialog in dialogs_of().values() if dialog.settings]
    write_env(home / ".env", {"LLM_MODEL": "openai:tiny", "NOBODYS": "1"})
    assert read_settings().llm_model == "openai:tiny"
    assert all(isinstance(read(kind), kind) for kind in kinds)


def test_settings_that_would_stumble_are_refused_at_once() -> None:
    """A dialog's author reads the fault of its settings, before an operator meets it."""

    class Strict(BaseSettings):
        """Settings that know their own alone."""

    with pytest.raises(ContractError, match="Strict needs extra='ignore'"):
        Dialog(tool="be_strict", description="Used for nothing.", settings=Strict)


async def test_nobody_to_ask() -> None:
    """In a pipe without --yes, or with --yes and no model, it says what is needed."""
    with pytest.raises(UsageError, match="nobody to ask"):
        await run()
    with pytest.raises(UsageError, match="--model NAME"):
        await run(yes=True)


@pytest.mark.parametrize("answers", [(), ("sk-secret",), ("sk-secret", "tiny")])
async def test_ctrl_d_ends_it(home: Path, capsys: Captured, answers: Sequence[str]) -> None:
    """Whatever is asked, the end of the input leaves `.env` as it is."""
    left = [*answers]

    async def ask(question: str, secret: bool) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.plugins.first_steps.model_servers.PLACES", [])
        assert await set_up_model(Settings(), "", "http://127.0.0.1:9/v1" if answers[:1] else "", ask) == 1
    assert "Nothing was written." in capsys.readouterr().out
    assert not (home / ".env").exists()


async def test_ctrl_d_behind_the_model_keeps_it(home: Path) -> None:
    """Ctrl-D skips an optional question."""

    async def ask(question: str, secret: bool) -> str:
        if "@BotFather" in question:
            raise EOFError
        return "sk-secret" if secret else "tiny"

    async with serving().open() as server:
        assert await set_up_model(Settings(), "tiny", server.url, ask) == 0
    assert dotenv_values(home / ".env")["LLM_MODEL"] == "openai:tiny"


async def test_a_folder_that_cannot_be_written_to(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator is told which file and why."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("app.plugins.first_steps.env_file.replace_file", refuse)
    async with serving().open() as server:
        with pytest.raises(ConfigError, match=r"\.env: Permission denied"):
            await run(model="tiny", base_url=server.url, yes=True)


@pytest.mark.slow
async def test_a_model_of_any_provider_can_be_set_up(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, llmock: LLMock
) -> None:
    """It is named as LLM_MODEL names it, or asked for; its key goes into its provider's variable."""
    calm(llmock).add(Reply(tool_calls=(ToolCall("current_time", {}),), times=None, match=Match(tools=True)))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", llmock.env()["ANTHROPIC_BASE_URL"])
    monkeypatch.setenv("ANTHROPIC_API_KEY", "set-already")

    assert await run(model="anthropic:m", yes=True) == 0
    assert dotenv_values(home / ".env") == {"LLM_MODEL": "anthropic:m", "ANTHROPIC_API_KEY": "set-already"}
    person = Person("anthropic", "large", "sk-secret", "y")
    assert await run(person, [1]) == 0

    assert "anthropic" in person.asked[0]
    assert len(person.secret) == 1
    assert dotenv_values(home / ".env") == {"LLM_MODEL": "anthropic:large", "ANTHROPIC_API_KEY": "sk-secret"}
    told = capsys.readouterr().out
    assert "Asking anthropic:m" in told
    assert "sk-secret" not in told


async def test_a_missing_package_is_named(home: Path) -> None:
    """A provider whose package is not there is one line for the operator, and nothing is written."""
    with pytest.raises(ConfigError, match="pip install langchain langchain-groq"):
        await run(model="groq:m", yes=True)
    assert not (home / ".env").exists()
