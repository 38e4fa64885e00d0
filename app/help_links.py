"""Links of the help chain that lead to others: another model, a person, the webhook of another assistant.

`docs/help.md` describes the requests and the answers of the webhook.
"""

import hashlib
import hmac
import ssl
from dataclasses import dataclass, field
from functools import cache

import httpx
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from agents.memory.notes import NoteStore
from agents.models import Model
from agents.models.reply import Listener, ask
from agents.sources.web.ssrf import read_body
from agents.state.message_notes import notes
from agents.toolkit.help import Exhausted, HelpRequest
from prompts import prompt

ASKING = "help link"
"""The speaker of a link's model calls in events; no real speaker has this name."""
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
        role, lang = prompt("help_model", question.lang, unknown=UNKNOWN), notes(lang=question.lang)
        messages: list[AnyMessage] = [SystemMessage(role, additional_kwargs=lang), HumanMessage(question.text)]
        text = (await ask(self.model, messages, [], Listener(ASKING, question.emit))).text.strip()
        return None if text.strip(" .!«»\"'").upper() == UNKNOWN else text


@dataclass(frozen=True)
class PersonLink:
    """Leaves a note for a person; doors deliver it."""

    name = "person"
    reaches_out = is_foreign = True
    notes: NoteStore
    most: int
    """The most notes of a user within a day."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the noted text. Raises Exhausted if the user has left too many notes today."""
        user = question.user or question.thread
        if not await self.notes.add(question.thread, question.text, question.key, user, self.most):
            raise Exhausted
        return question.text


class WebhookFault(ValueError):
    """The webhook's response holds no answer; the next link is asked."""


class _HelpResponse(BaseModel):
    answer: str | None


@dataclass(frozen=True)
class Webhook:
    """Asks another assistant over HTTP. `salt` hides from it the thread of a question."""

    name = "webhook"
    reaches_out = is_foreign = True
    url: str
    salt: bytes
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
        thread = hmac.new(self.salt, question.thread.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]
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
