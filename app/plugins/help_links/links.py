"""Another model, and the webhook of another assistant; `docs/help.md` describes its requests and answers."""

import hashlib
import hmac
import secrets
import ssl
from dataclasses import dataclass, field
from functools import cache

import httpx
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from agents.errors import ConfigError
from agents.models import Model
from agents.models.factory import Endpoint, make_model
from agents.models.reply import Listener, ask
from agents.sources.web.ssrf import read_body
from agents.state.message_notes import notes
from agents.toolkit.help import ASKING, HelpRequest
from agents.toolkit.services import Services
from app.plugins.help_links import HelpLinkSettings
from prompts import prompt

SALT = ("application", "help")
VERSION = 1
LARGEST_RESPONSE = 64 * 1024
"""The most bytes of an answer."""
UNKNOWN = "UNKNOWN"
"""The model's word for an unknown answer; the prompt names it."""


@dataclass(frozen=True)
class OtherModel:
    """Asks another model."""

    name = "model"
    reaches_out = is_foreign = True
    model: Model

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the model's answer; the call sends the events of every model call."""
        role, lang = prompt("help_links/model", question.lang, unknown=UNKNOWN), notes(lang=question.lang)
        messages: list[AnyMessage] = [SystemMessage(role, additional_kwargs=lang), HumanMessage(question.text)]
        text = (await ask(self.model, messages, [], Listener(ASKING, question.emit))).text.strip()
        return None if text.strip(" .!«»\"'").upper() == UNKNOWN else text


class WebhookFault(ValueError):
    """The webhook's response holds no answer; the next link is asked."""


class _HelpResponse(BaseModel):
    answer: str | None


@dataclass(frozen=True)
class Webhook:
    """Asks another assistant over HTTP. A secret of the database, `store`, hides from it the thread of a question."""

    name = "webhook"
    reaches_out = is_foreign = True
    url: str
    store: BaseStore
    secret: str | None = field(default=None, repr=False)
    timeout: float = 10

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the other assistant's answer; redirects are not followed, and a long answer is refused.

        Raises:
            httpx.HTTPError: the assistant cannot be reached.
            BodyRefused: its answer is packed or too long.
            ValueError: its answer has another form.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        salt = await _salt(self.store)
        thread = hmac.new(salt, question.thread.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]
        body = {"v": VERSION, "query": question.text, "lang": question.lang, "thread": thread}
        async with (
            # A proxy of the environment would see the secret and the question.
            httpx.AsyncClient(
                timeout=self.timeout, follow_redirects=False, verify=_trusted(), trust_env=False
            ) as client,
            client.stream("POST", self.url, json=body, headers=headers) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise WebhookFault(f"status {response.status_code}")
            return _HelpResponse.model_validate_json(await read_body(response, LARGEST_RESPONSE)).answer


@cache
def _trusted() -> ssl.SSLContext:
    """Return the trusted certificates, read once: a new read for each question would hold up every turn."""
    return httpx.create_ssl_context(trust_env=False)


async def _salt(store: BaseStore) -> bytes:
    """Return the salt for hashes of thread ids: a secret of the database that never changes."""
    if (item := await store.aget(SALT, "salt")) is not None:
        return bytes.fromhex(str(item.value["salt"]))
    salt = secrets.token_bytes(16)
    await store.aput(SALT, "salt", {"salt": salt.hex()})
    return salt


def model_link(settings: HelpLinkSettings) -> OtherModel:
    """Return the link to another model. Raises ConfigError: its name or key is missing."""
    name = settings.help_model or ""
    provider, _, bare = name.partition(":")
    if not bare or provider == "local":
        raise ConfigError("HELP_CHAIN: the link model needs HELP_MODEL=<provider>:<name>")
    if provider != "openai":
        if settings.help_base_url or settings.help_api_key:
            raise ConfigError("HELP_BASE_URL and HELP_API_KEY are for HELP_MODEL=openai:<name> alone")
        return OtherModel(make_model(name, Endpoint(timeout=settings.help_timeout, retries=0)))
    own = bool(settings.help_base_url or settings.help_api_key)
    key = settings.help_api_key if own else settings.openai_api_key
    url = settings.help_base_url if own else settings.openai_base_url
    if not (key or url):
        raise ConfigError("HELP_MODEL needs HELP_API_KEY or HELP_BASE_URL")
    return OtherModel(make_model(name, Endpoint(key=key, base_url=url, timeout=settings.help_timeout, retries=0)))


def make(name: str, services: Services) -> OtherModel | Webhook:
    """Return the link of this name."""
    settings = services.get(HelpLinkSettings)
    if name == OtherModel.name:
        return model_link(settings)
    secret = settings.help_webhook_secret.get_secret_value() if settings.help_webhook_secret else None
    return Webhook(str(settings.help_webhook_url), services.get(BaseStore), secret, settings.help_timeout)
