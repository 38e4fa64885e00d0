"""A key goes to the address that it was given for, whatever the provider, and however it is spelled."""

import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.models.factory import Endpoint, Parameters, make_model
from tests.support.http_service import Answer, Service

PROVIDERS = ["OpenAI", "anthropic", "google-genai"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_address_of_a_role_gets_no_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `base_url` among the parameters is asked, and reads neither the settings' key nor one of the environment."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "a-secret")
    async with Service.open(Answer({}, status=400)) as service:
        endpoint = Endpoint(key=SecretStr("a-secret"), retries=0)
        model = make_model(f"{provider}:m", endpoint, Parameters(base_url=f"{service.url}/v1"))
        with pytest.raises(Exception, match=r".*"):
            await model.chat.ainvoke("hello")
    assert service.asked
    assert "a-secret" not in str(service.asked)


def test_what_a_client_always_sends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some clients take a second secret from the environment, which nothing keeps from an address."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-secret")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    with pytest.raises(ConfigError, match="would send ANTHROPIC_AUTH_TOKEN"):
        make_model("anthropic:m", Endpoint(), Parameters(base_url="http://127.0.0.1:9"))
