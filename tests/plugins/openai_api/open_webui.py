"""Requests as Open WebUI sends them: all that was said in the chosen branch, and for whom in headers."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from app.plugins.openai_api import OpenAISettings, read_front_ends
from tests.support.http_door import SHOP, by

MODEL, HELPER = "dialog-supervisor", "dialog-supervisor-helper"
FRONT_ENDS = "shop:X-OpenWebUI-User-Id:X-OpenWebUI-Chat-Id"
SETTINGS = OpenAISettings(_env_file=None, front_ends=read_front_ends(FRONT_ENDS))
CONTEXT = """### Task:
Respond to the user query using the provided context, incorporating inline citations in the format [id].

### Output:
Provide a clear and direct response to the user's query.

<context>
<source id="1" name="{name}">{document}</source>
</context>

{words}"""
"""Open WebUI's wrapping of words with a file; shortened, with its beginning and its end."""
MERGE = """You have been provided with a set of responses from various models to the latest user query: "{words}"

Your task is to synthesize these responses into a single, high-quality response.

Responses from models: '''Done.'''"""
"""Open WebUI's prompt to merge answers side by side; shortened, its quotation marks changed."""
TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: {{ "title": "your concise title here" }}
### Chat History:
<chat_history>
USER: {words}
ASSISTANT: {answer}
</chat_history>"""


@dataclass
class Account:
    """Somebody's account, with the chat that is open."""

    client: httpx.AsyncClient
    headers: Mapping[str, str] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, client: httpx.AsyncClient, user: str = "", chat: str = "") -> "Account":
        """Return an account whose headers are forwarded as far as they are named."""
        named = {"X-OpenWebUI-User-Id": user, "X-OpenWebUI-Chat-Id": chat}
        return cls(client, {**by(SHOP), **{name: value for name, value in named.items() if value}})

    async def send(self, content: object, model: str = MODEL) -> httpx.Response:
        """Send what was said and a message, of which nothing is kept."""
        body = {"model": model, "messages": [*self.messages, {"role": "user", "content": content}]}
        return await self.client.post("/v1/chat/completions", json=body, headers=self.headers)

    async def says(self, words: str, content: object = None, *, cut: int | None = None) -> str:
        """Say something and keep it with its answer; `cut` is what is left of that after Stop."""
        response = await self.send(content or words)
        assert response.status_code == 200, response.text
        answer = str(response.json()["choices"][0]["message"]["content"])
        self.messages += [{"role": "user", "content": words}, {"role": "assistant", "content": answer[:cut]}]
        return answer

    def back(self, count: int = 1) -> None:
        """Leave the last messages and their answers, to send one of them anew."""
        del self.messages[-2 * count :]


def picture(size: int) -> list[dict[str, Any]]:
    """Return a message with a picture of about so many bytes."""
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(size)).decode()
    address = {"url": f"data:image/png;base64,{data}"}
    return [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": address}]
