"""The tool with which a model calls a person to the conversation."""

from langchain_core.tools import tool

from agents.toolkit import Runtime, traits
from agents.toolkit.traits import Done
from app.plugins.seat.seats import Seats
from prompts import sentence


async def _withdrawn(done: Done, runtime: Runtime) -> str:
    """Withdraw the call, if nobody has come yet."""
    lang: str = runtime.state["lang"]
    was_called = await runtime.context.service(Seats).withdraw(runtime.context.thread)
    return sentence("seat/phrases", "withdrawn" if was_called else "not_called", lang)


@traits(effect="write", repeatable=True, always=True, shortcut=True, undo=_withdrawn)
@tool
async def call_a_person(runtime: Runtime, reason: str = "") -> str:
    """Call a person to this conversation: the user asks for one, or is upset, or nothing here helps.

    reason: why.
    """
    context, lang = runtime.context, runtime.state["lang"]
    seats = context.service(Seats)
    await seats.call(context.thread, context.user, lang, "assistant", reason)
    return sentence("seat/phrases", "called", lang)
