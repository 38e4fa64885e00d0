"""OpenAI's API, at `/v1`: its clients talk to the assistant as to a model."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from pydantic_settings import NoDecode

from agents.plugin import Plugin, PluginSettings
from app.extensions import written

NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""The name of a key, or of a header."""


@dataclass(frozen=True)
class FrontEnd:
    """The headers with which a front end names its user and its chat."""

    user: str
    chat: str = ""


def read_front_ends(text: str) -> dict[str, FrontEnd]:
    """Return the front ends in a setting by the names of keys, as in `webui:X-User-Id:X-Chat-Id, other:X-User-Id`.

    Raises:
        ValueError: the setting has another form.
    """
    entries = [re.split(r"\s*:\s*", entry.strip()) for entry in text.split(",") if entry.strip()]
    if not all(len(parts) in (2, 3) and all(map(NAME.fullmatch, parts)) for parts in entries):
        raise ValueError("write key:user header, or key:user header:chat header, for each")
    return {name: FrontEnd(*headers) for name, *headers in entries}


class OpenAISettings(PluginSettings):
    """The trusted front ends: holders of keys that speak for users."""

    front_ends: Annotated[dict[str, FrontEnd], NoDecode, written(read_front_ends)] = Field(default_factory=dict)


plugin = Plugin(
    settings=OpenAISettings,
    routes=("app.plugins.openai_api.completions", "app.plugins.openai_api.responses"),
)
