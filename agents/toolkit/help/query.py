"""The question of a help call that no model has worded: one that can be understood without the conversation.

What the user said plainly is the question as it is. What points at something ("and that one?") or says little is
rewritten by a model. A model of rules, or one that does not answer, leaves it to a rule: the words before are added.
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
MOST_SHOWN = 6
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
    context, lang = cast(Context, request.runtime.context), state["lang"]
    text = plain(state["heard"]["text"] or "", LONGEST_QUESTION)
    earlier = [message for message in state.get("talk", ()) if message.id != state["heard"]["id"]]
    wishes = [wish for message in earlier if (wish := _wish(message))]
    if not wishes or _is_clear(text, lang):
        return text
    by_rule = f"{plain(wishes[-1], max(LONGEST_QUESTION - len(text) - 1, 1))}\n{text}".strip()
    if context.models.want_facts(ROLE):
        return by_rule
    listener = Listener(REWRITING, emitter(request.runtime), role=ROLE, thread=context.thread)
    talk = "\n".join([line for message in earlier if (line := _line(message))][-MOST_SHOWN:])
    question: list[AnyMessage] = [
        SystemMessage(prompt("help_query", lang), additional_kwargs=notes(lang=lang)),
        HumanMessage(text, additional_kwargs=notes(context=[phrase("said_before", lang, talk=talk)])),
    ]
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await reply(context.models.chain(ROLE), question, [], listener)
    except Exception as failure:
        # Help is a way out: whatever is wrong with the model, the question is asked as it is.
        LOG.warning("thread %s: a help query was not rewritten (%s)", context.thread, type(failure).__name__)
        return by_rule
    return plain(" ".join(answer.text.split()), LONGEST_QUESTION) or by_rule


def _is_clear(text: str, lang: str) -> bool:
    """Tell whether a message can be understood by itself."""
    content = set(stems(text, lang)) - small_words(lang)
    return not text or (len(content) >= FEW_WORDS and not mentions("pointing", text, lang))


def _line(message: AnyMessage) -> str:
    """Return what was said, and by whom; empty for results of tools and notes without a brief."""
    who, text = ("assistant", message.text) if isinstance(message, AIMessage) else ("user", _wish(message))
    return f"{who}: {plain(' '.join(text.split()), LONGEST_SHOWN)}" if text.strip() else ""


def _wish(message: AnyMessage) -> str:
    """Return what a message says of what the user wants: their words, or the brief of a hand-over."""
    if isinstance(message, HumanMessage):
        return message.text
    return notes_of(message).get("brief") or "" if isinstance(message, SystemMessage) else ""
