"""The question of a help call that no model has worded: one that can be understood without the conversation.

What the user said plainly is the question as it is. What points at something ("and that one?") or says little is
rewritten by a model. A model that does not answer leaves it to a rule: the words before are added.
"""

import asyncio
import logging
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from agents.language.text.phrases import mentions, small_words
from agents.language.text.stems import stems
from agents.models.reply import Listener, reply
from agents.state.message_notes import notes, notes_of
from agents.toolkit.context import Context, ToolState, emitter
from agents.toolkit.help import LONGEST_QUESTION, plain
from prompts import phrase, prompt

FEW_WORDS = 3
"""A message of fewer words that say something is not clear by itself."""
SHOWN = 6
"""Messages before the user's last one that the model is shown."""
LONGEST_SHOWN = 300
"""Characters of each."""
PATIENCE = 10
"""Seconds that rewriting may take."""
REWRITING = "help query"
"""The speaker of the model call in events; no real speaker has this name."""
ROLE = "observer"
"""Whose model rewrites: the small, quick one."""
LOG = logging.getLogger(__name__)


async def help_query(request: ToolCallRequest) -> str:
    """Return what the user asks, in words that are clear without the conversation; empty if they said nothing."""
    state: ToolState = request.state
    context = cast(Context, request.runtime.context)
    if is_clear(state) or not _said_before(state):
        return by_rules(state)
    listener = Listener(REWRITING, emitter(request.runtime), role=ROLE, thread=context.thread)
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await reply(context.models.chain(ROLE), _prompt(state), [], listener)
    except Exception as failure:
        # Help is a way out: whatever is wrong with the model, the question is asked as it is.
        LOG.warning("thread %s: a help query was not rewritten (%s)", context.thread, type(failure).__name__)
        return by_rules(state)
    return plain(" ".join(answer.text.split()), LONGEST_QUESTION) or by_rules(state)


def is_clear(state: ToolState) -> bool:
    """Tell whether the user's last message can be understood by itself."""
    text, lang = _heard(state), state["lang"]
    content = set(stems(text, lang)) - small_words(lang)
    return not text or (len(content) >= FEW_WORDS and not mentions("pointing", text, lang))


def by_rules(state: ToolState) -> str:
    """Return the user's last message; one that is not clear with the message before it, or with the brief of the
    hand-over that it caused."""
    text = _heard(state)
    if is_clear(state):
        return text
    earlier_texts = _said_before(state)
    earlier = earlier_texts[-1] if earlier_texts else ""
    before = plain(earlier, max(LONGEST_QUESTION - len(text) - 1, 1))
    return f"{before}\n{text}".strip()


def _prompt(state: ToolState) -> list[AnyMessage]:
    """Return the prompt: the role, and the last message with what was said before it as data."""
    lang = state["lang"]
    lines = [
        line for message in state.get("talk", ()) if message.id != state["heard"]["id"] and (line := _line(message))
    ]
    before = phrase("said_before", lang, talk="\n".join(lines[-SHOWN:]))
    return [
        SystemMessage(prompt("help_query", lang), additional_kwargs=notes(lang=lang)),
        HumanMessage(_heard(state), additional_kwargs=notes(context=[before])),
    ]


def _line(message: AnyMessage) -> str:
    """Return what was said, and by whom; empty for results of tools and notes without a brief."""
    who = "assistant" if isinstance(message, AIMessage) else "user"
    text = message.text if isinstance(message, AIMessage) else _wish(message)
    return f"{who}: {plain(' '.join(text.split()), LONGEST_SHOWN)}" if text.strip() else ""


def _heard(state: ToolState) -> str:
    return plain(state["heard"]["text"] or "", LONGEST_QUESTION)


def _said_before(state: ToolState) -> list[str]:
    """Return what the user wanted before this message, oldest first."""
    earlier = (message for message in state.get("talk", ()) if message.id != state["heard"]["id"])
    return [wish for message in earlier if (wish := _wish(message))]


def _wish(message: AnyMessage) -> str:
    """Return what a message says of what the user wants: their words, or the brief of a hand-over."""
    if isinstance(message, HumanMessage):
        return message.text
    return notes_of(message).get("brief") or "" if isinstance(message, SystemMessage) else ""
