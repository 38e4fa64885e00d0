"""What is said in recordings, written down by a model (docs/files.md)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from pydantic import AnyHttpUrl, SecretStr

from agents.plugin import Plugin, PluginSettings
from agents.toolkit.services import Services
from app.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"


class SpeechSettings(PluginSettings):
    """The model and its server; without one it is the application's own."""

    transcriber_model: str | None = None
    transcriber_base_url: AnyHttpUrl | None = None
    transcriber_api_key: SecretStr | None = None


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the model, if one is set."""
    settings = services.get(SpeechSettings)
    if not settings.transcriber_model:
        yield ()
        return
    usual = services.get(Settings)
    # The client takes long to load.
    make = import_module("app.plugins.speech.transcriber").Transcriber
    own = settings.transcriber_base_url and str(settings.transcriber_base_url)
    url, key = own or usual.openai_base_url or OPENAI_URL, settings.transcriber_api_key
    # No server may get the key of another one.
    key = key if own else key or usual.openai_api_key
    yield [make(url, settings.transcriber_model, key, usual.model_timeout)]


plugin = Plugin(settings=SpeechSettings, services=opened)
