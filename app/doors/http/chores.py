"""What chat front ends ask beside a conversation: titles, tags, follow-ups. It belongs to no thread."""

import re

from fastapi import HTTPException
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.events import Event, Message, ModelEnd
from agents.models.reply import Listener, reply
from agents.state import SUPERVISOR
from app.assistant import Assistant, Turn
from app.doors.http.answers import Busy
from prompts import FALLBACK, phrase

# What front ends ask and no user: Open WebUI's tasks and LibreChat's titles, as their templates begin.
TASK = re.compile(
    r"\s*(### Task:.*<(chat_history|text)>"
    r"|(please )?(provide|generate) a concise,? .{0,80}\btitle\b.{0,40}\bconversation\b"
    r"|analyze this conversation and provide:)",
    re.DOTALL | re.IGNORECASE,
)
FIRST_WORDS = re.compile(r"^\s*(?:user|human)\s*:\s*((?:\S+[ \t]*){1,5})", re.MULTILINE | re.IGNORECASE)
NOTHING_SAID = "💬"


async def do(assistant: Assistant, turn: Turn) -> list[Event]:
    """Return the events of an answer by the model that leads, without tools or memory; it counts as the user's.

    A model that reads no prompts gives the first words of the user that stand in the text.

    Raises:
        Busy: no further turn of the user is taken on now.
        HTTPException: the text is too long (422), too much was sent (429), or the model does not answer (503).
    """
    if assistant.is_too_long(turn):
        raise HTTPException(422, "The text is too long.")
    if assistant.is_crowded(turn.owner):
        raise Busy
    if assistant.refuses(turn):
        raise HTTPException(429, "Too many messages were sent; come again later.")
    events, answer, text = list[Event](), NOTHING_SAID, turn.text or ""
    if assistant.reads:
        messages: list[AnyMessage] = [SystemMessage(phrase("chore", FALLBACK)), HumanMessage(text)]
        try:
            async with assistant.counted(turn.owner) as note:

                def take(event: Event) -> None:
                    note(event)
                    events.append(event)

                answer = str((await reply(assistant.leading, messages, [], Listener(SUPERVISOR, take))).text)
        except ModelUnavailable:
            raise HTTPException(503, "The model does not answer.") from None
    elif first := FIRST_WORDS.search(text):
        answer = first[1].strip()
    return [*(event for event in events if isinstance(event, ModelEnd)), Message(speaker=SUPERVISOR, text=answer)]
