"""Links of HELP_CHAIN that lead to others: another model, and the webhook of another assistant (docs/help.md)."""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from pydantic import AnyHttpUrl, SecretStr, model_validator

from agents.models.factory import Address
from agents.plugin import Plugin
from app.settings import SharedSettings

if TYPE_CHECKING:
    from agents.toolkit.help import HelpLink
    from agents.toolkit.services import Services


class HelpLinkSettings(SharedSettings):
    """The model, the webhook, and the application's own settings that they need."""

    help_model: str | None = None
    help_base_url: Address | None = None
    help_api_key: SecretStr | None = None
    help_webhook_url: AnyHttpUrl | None = None
    help_webhook_secret: SecretStr | None = None

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        """Refuse a chain with a link that lacks a setting."""
        if "model" in self.help_chain:
            _links().model_link(self)
        if "webhook" in self.help_chain and self.help_webhook_url is None:
            raise ValueError("HELP_CHAIN: the link webhook needs HELP_WEBHOOK_URL")
        return self


def _links() -> Any:
    """Return the module of the links; most installations ask none of them."""
    return import_module("app.plugins.help_links.links")


def _link(name: str, services: "Services") -> "HelpLink":
    link: HelpLink = _links().make(name, services)
    return link


plugin = Plugin(settings=HelpLinkSettings, help={name: partial(_link, name) for name in ("model", "webhook")})
