"""An operator's settings of the Telegram bot."""

import re
from typing import Annotated

from pydantic import AfterValidator, AnyHttpUrl, Field, SecretStr, UrlConstraints
from pydantic_settings import NoDecode

from agents.plugin import PluginSettings
from app.extensions import written
from app.settings import UserNumbers


def _phrases(text: str) -> list[str]:
    """Read "Sue, hey bot"."""
    return [phrase for part in text.split(",") if (phrase := part.strip())]


def _as_telegram_takes_it(value: SecretStr | None) -> SecretStr | None:
    """Return a secret that fits a header of Telegram, or refuse it."""
    if value and not re.fullmatch(r"[\w-]{16,256}", value.get_secret_value(), re.ASCII):
        raise ValueError("write 16 to 256 letters, digits, _ or -")
    return value


class TelegramSettings(PluginSettings):
    """The bot, its people, the way of its updates, and the chats of operators."""

    telegram_bot_token: SecretStr | None = None
    telegram_api_url: str = "https://api.telegram.org"
    telegram_allowed_users: UserNumbers = frozenset()
    telegram_proxy: SecretStr | None = None
    telegram_webhook_url: Annotated[AnyHttpUrl, UrlConstraints(allowed_schemes=["https"])] | None = None
    telegram_webhook_listen: str = Field(default="127.0.0.1:8443", pattern=r"^.+:\d{1,5}$")
    telegram_webhook_secret: Annotated[SecretStr | None, AfterValidator(_as_telegram_takes_it)] = None
    telegram_wake_words: Annotated[frozenset[str], NoDecode, written(_phrases)] = frozenset()
    ring_telegram_chat: int | None = None
    help_operator_chat: int | None = None

    @property
    def token(self) -> str:
        """The bot's token; empty if there is none."""
        return self.telegram_bot_token.get_secret_value() if self.telegram_bot_token else ""
