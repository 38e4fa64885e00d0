"""Ask help for a failed call, without waiting for the model to ask; the model gets the answer with the problem.

Help is asked when the tool is unknown, when it fails, and when its arguments are wrong twice in a row.

The question for help can be understood without the conversation. A plain message of the user is the question itself.
A model rewrites a message that points at something ("and that one?") or says little. If the model works by rules or
does not answer, a rule adds the words before it.
"""

import asyncio
import logging
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agents.language.text.stems import stems
from agents.language.text.vocabulary import mentions, small_words
from agents.models.reply import Listener, reply
from agents.state.message_notes import notes, notes_of
from agents.toolkit.call import Execute, message_of, this_turn
from agents.toolkit.context import Context, ToolState, emitter
from agents.toolkit.help import LONGEST_QUESTION, readable
from agents.toolkit.tool_search import assistant_help
from prompts import phrase, prompt

LONGEST_HELP = 600
"""Characters of help that a model gets with a problem."""
FEW_WORDS = 3
"""A message with fewer words of content is not clear by itself."""
MOST_SHOWN = 6
"""Messages before the user's last one that the model sees."""
LONGEST_SHOWN = 300
"""Characters of each."""
REWRITING = "help query"
"""The speaker of the model call in events; no real speaker has this name."""
ROLE = "observer"
"""The role of the model that rewrites: the small, quick one."""
LOG = logging.getLogger(__name__)


async def add_help(request: ToolCallRequest, message: ToolMessage, execute: Execute, help: BaseTool) -> None:
    """Add the help's answer to the message of a failed call, if its trouble needs help; once a turn for a tool.

    The call of the tool `help` has events of its own.
    """
    if not _ends_in_help(message, request.state) or not (query := await _help_query(request)):
        return
    call = ToolCall(name=help.name, args={"query": query}, id=f"{request.tool_call['id']}-help", type="tool_call")
    answer = message_of(await execute(request.override(tool_call=call, tool=help)))
    if answer.status != "error" and (text := readable(answer.text, LONGEST_HELP)):
        message.content = f"{message.text}\n{phrase('tool_help', request.state['lang'], answer=text)}"
        notes_of(message)["rescued"] = text


def _ends_in_help(message: ToolMessage, state: ToolState) -> bool:
    kind = notes_of(message).get("trouble")
    if kind in (None, "refused") or (kind == "failed" and message.name == assistant_help.name):
        return False
    worked = this_turn(state.get("talk", ()), state["heard"]["id"])
    answers = [answer for answer in worked if isinstance(answer, ToolMessage)]
    before = [answer for answer in answers if answer.name == message.name]
    if any(notes_of(answer).get("rescued") for answer in before):
        return False
    return kind != "arguments" or (bool(before) and notes_of(before[-1]).get("trouble") == "arguments")


async def _help_query(request: ToolCallRequest) -> str:
    """Return the user's question in words that are clear without the conversation; empty if there is none."""
    state: ToolState = request.state
    context, lang = cast(Context, request.runtime.context), state["lang"]
    text = readable(state["heard"]["text"] or "", LONGEST_QUESTION)
    earlier = [message for message in state.get("talk", ()) if message.id != state["heard"]["id"]]
    wishes = [wish for message in earlier if (wish := _wish(message))]
    content = set(stems(text, lang)) - small_words(lang)
    is_clear = len(content) >= FEW_WORDS and not mentions("pointing", text, lang)
    if not text or not wishes or is_clear:
        return text
    by_rule = f"{readable(wishes[-1], max(LONGEST_QUESTION - len(text) - 1, 1))}\n{text}".strip()
    listener = Listener(REWRITING, emitter(request.runtime), role=ROLE, thread=context.thread)
    talk = "\n".join([line for message in earlier if (line := _line(message))][-MOST_SHOWN:])
    question: list[AnyMessage] = [
        SystemMessage(prompt("help_query", lang), additional_kwargs=notes(lang=lang)),
        HumanMessage(text, additional_kwargs=notes(context=[phrase("said_before", lang, talk=talk)])),
    ]
    chain = context.models.chain(ROLE)
    try:
        async with asyncio.timeout(chain[0].aside_seconds):
            answer = await reply(chain, question, [], listener)
    except Exception as failure:
        # Help is a way out: if the model fails in any way, the question is asked as it is.
        LOG.warning("thread %s: a help query was not rewritten (%s)", context.thread, type(failure).__name__)
        return by_rule
    return readable(" ".join(answer.text.split()), LONGEST_QUESTION) or by_rule


def _line(message: AnyMessage) -> str:
    """Return a message behind its writer's role; empty for results of tools and notes without a brief."""
    who, text = ("assistant", message.text) if isinstance(message, AIMessage) else ("user", _wish(message))
    return f"{who}: {readable(' '.join(text.split()), LONGEST_SHOWN)}" if text.strip() else ""


def _wish(message: AnyMessage) -> str:
    """Return the user's words, or the brief of a handoff."""
    if isinstance(message, HumanMessage):
        return message.text
    return notes_of(message).get("brief") or "" if isinstance(message, SystemMessage) else ""
