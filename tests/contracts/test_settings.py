"""Settings: read from the environment, wrong ones named for the operator."""

import pytest

from agents.errors import ConfigError
from app.settings import Settings, read_settings


def settings(**values: str) -> Settings:
    """Return settings as the environment would give them, without any `.env`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name.upper(), value)
        return Settings(_env_file=None)


@pytest.mark.needs("standin")
def test_without_anything_it_runs_without_a_key() -> None:
    """The default model needs no key."""
    assert settings().models().default.name == "local:rules"


@pytest.mark.needs("standin")
def test_roles_may_have_their_own_models() -> None:
    """Each role, the observers and the fallback can be given a model of their own."""
    models = settings(
        llm_model="openai:big",
        observer_model="openai:small",
        role_models="planner=openai:plan, supervisor=local:rules",
        fallback_model="local:rules",
        openai_api_key="k",
    ).models()

    assert [model.name for model in models.chain("planner")] == ["openai:plan", "local:rules"]
    assert models.chain("observer")[0].name == "openai:small"
    assert models.chain("supervisor")[0].name == "local:rules"
    assert models.chain("profile")[0].name == "openai:big"


@pytest.mark.needs("standin")
def test_a_model_on_the_command_line_counts_for_every_role() -> None:
    """`--model` takes the place of whatever is configured."""
    models = settings(llm_model="openai:big", role_models="planner=openai:plan").models("local:rules")

    assert models.chain("planner")[0].name == "local:rules"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"llm_model": "gpt"}, "LLM_MODEL"),
        ({"llm_model": "openai:"}, "LLM_MODEL"),
        ({"llm_model": "openai:gpt"}, "OPENAI_API_KEY"),
        ({"role_models": "planner"}, "ROLE_MODELS"),
        ({"model_timeout": "soon"}, "MODEL_TIMEOUT"),
        ({"model_timeout": "inf"}, "MODEL_TIMEOUT"),
        ({"model_retries": "-1"}, "MODEL_RETRIES"),
        ({"llm_parameters": "warm"}, "LLM_PARAMETERS"),
        ({"llm_parameters": '{"observer": {"temprature": 1}}'}, "LLM_PARAMETERS observer.temprature"),
        ({"llm_parameters": '{"default": {"max_tokens": 0}}'}, "LLM_PARAMETERS default.max_tokens"),
        ({"llm_parameters": '{"observer": {"base_url": "localhost:1"}}'}, "LLM_PARAMETERS observer.base_url"),
        ({"openai_base_url": "localhost:11434"}, "OPENAI_BASE_URL"),
        ({"permissions": "alice"}, "PERMISSIONS"),
        ({"permissions": "alice="}, "PERMISSIONS"),
        ({"permissions": "=refund"}, "PERMISSIONS"),
        ({"permissions": "alice=refund, admin"}, "PERMISSIONS"),
        ({"permissions": "alice=refund; alice=admin"}, "PERMISSIONS"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong setting becomes one line that names it."""
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    for name, value in values.items():
        monkeypatch.setenv(name.upper(), value)

    with pytest.raises(ConfigError, match=named) as wrong:
        read_settings().models()
    assert "\n" not in str(wrong.value)


def test_a_server_of_ones_own_needs_no_key() -> None:
    """With OPENAI_BASE_URL alone an "openai:" model is accepted."""
    assert settings(llm_model="openai:llama", openai_base_url="http://127.0.0.1:1/v1").models().default.name


def test_the_key_is_not_shown() -> None:
    """Settings can be printed without giving the key away."""
    assert "hush" not in repr(settings(openai_api_key="hush"))


def test_permissions_belong_to_users() -> None:
    """Each entry is a user's or, under `*`, everybody's; the end of the list may be marked, too."""
    granted = settings(permissions=" alice=refund admin; *=read; ").permissions

    assert granted == {"alice": {"refund", "admin"}, "*": {"read"}}
    assert settings().permissions == {}
