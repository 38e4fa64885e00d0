"""What chat front ends ask beside a conversation: titles, tags, follow-ups. It belongs to no thread."""

import re

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.events import Event, Message, ModelEnd
from agents.models.reply import Listener, reply
from agents.state import SUPERVISOR
from app.assistant import Assistant
from prompts import FALLBACK, phrase

# Open WebUI's tasks and LibreChat's titles, as their templates begin.
TASK = re.compile(
    r"\s*(### Task:.*<(chat_history|text)>"
    r"|(please )?(provide|generate) a concise,? .{0,80}\btitle\b.{0,40}\bconversation\b"
    r"|analyze this conversation and provide:)",
    re.DOTALL | re.IGNORECASE,
)
FIRST_WORDS = re.compile(r"^\s*(?:user|human)\s*:\s*((?:\S+[ \t]*){1,5})", re.MULTILINE | re.IGNORECASE)
NOTHING_SAID = "💬"


def is_chore(text: str) -> bool:
    """Tell whether a front end asks this, and no user."""
    return TASK.match(text) is not None


async def do(assistant: Assistant, text: str) -> list[Event]:
    """Return the events of an answer by the model that leads, without tools or memory.

    A model that reads no prompts gives the first words of the user that stand in the text.

    Raises:
        ModelUnavailable: the model does not answer.
    """
    events, answer = list[Event](), NOTHING_SAID
    if assistant.reads:
        messages: list[AnyMessage] = [SystemMessage(phrase("chore", FALLBACK)), HumanMessage(text)]
        answer = str((await reply(assistant.leading, messages, [], Listener(SUPERVISOR, events.append))).text)
    elif first := FIRST_WORDS.search(text):
        answer = first[1].strip()
    return [*(event for event in events if isinstance(event, ModelEnd)), Message(speaker=SUPERVISOR, text=answer)]
