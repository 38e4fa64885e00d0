"""Chains of help that cannot work are told at start, with the setting."""

from pathlib import Path

import pytest

from app.cli import command_line
from app.plugins.help_links import HelpLinkSettings, links

Captured = pytest.CaptureFixture[str]
pytestmark = pytest.mark.needs("standin")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A folder without any .env."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    return monkeypatch


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
    settings = HelpLinkSettings(_env_file=None, help_base_url="http://127.0.0.1:9/v1")
    assert "theirs" not in help_key(settings)
    assert "theirs" in help_key(HelpLinkSettings(_env_file=None))


def help_key(settings: HelpLinkSettings) -> str:
    """Return the key that the model of the chain is asked with."""
    key = links.model_link(settings).model.chat.openai_api_key  # type: ignore[attr-defined]  # every such model has one
    return str(key.get_secret_value())
