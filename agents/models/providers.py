"""Models of all providers but OpenAI, through LangChain's `init_chat_model`.

The packages are optional: each is imported when a model's name asks for it.
"""

import importlib
import os
from collections.abc import Mapping, Sequence

from langchain_core.language_models import BaseChatModel

from agents.errors import ConfigError

KEYS: Mapping[str, Sequence[str]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "mistralai": ("MISTRAL_API_KEY",),
}
"""Where providers whose packages find out about a missing key only in the first call take it from."""
KEY_OF: Mapping[str, str] = {
    **{provider: names[0] for provider, names in KEYS.items()},
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "ollama": "",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""The variable of each provider's key, for those that need no other setting; empty: it needs none."""


def make_chat(kind: str, name: str, **options: object) -> BaseChatModel:
    """Return the chat model `name` of the provider `kind`; its key comes from the provider's own variable.

    Raises:
        ConfigError: the provider is unknown, or its package or its key is missing.
    """
    keys = KEYS.get(kind, ())
    try:
        init_chat_model = importlib.import_module("langchain.chat_models").init_chat_model
        chat = init_chat_model(name, model_provider=kind, **options)
    except ImportError as missing:
        package = _package(str(missing), kind)
        raise ConfigError(f"{kind}: models need a package: pip install langchain {package}") from None
    except Exception as wrong:
        # The packages raise what they like: ValidationError, ValueError, errors of their clients.
        raise ConfigError(f"{kind}:{name} cannot be used: {_first_sentence(wrong)}") from None
    if keys and not any(os.environ.get(key) for key in keys):
        raise ConfigError(f"{kind}: models need {keys[0]} in the environment or in .env")
    assert isinstance(chat, BaseChatModel)  # so promises init_chat_model for a name without configurable fields
    return chat


def _package(message: str, kind: str) -> str:
    """Return the package that LangChain names, or the one that its packages' names suggest."""
    named = message.partition("pip install ")[2].split("`")[0]
    return named or f"langchain-{kind.replace('_', '-')}"


def _first_sentence(failure: Exception) -> str:
    """Return what is wrong in one line; pydantic puts its own words and the values around it."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    line = next((line for line in lines if "[type=" in line), lines[0] if lines else type(failure).__name__)
    return line.partition(" [type=")[0].removeprefix("Value error, ")
