"""assistant_help: the way out when no other tool fits or one has failed."""

from langchain_core.tools import tool

from agents.context import emitter
from agents.help import HelpRequest
from agents.toolkit.runtime import Runtime


@tool
async def assistant_help(query: str, runtime: Runtime) -> str:
    """Look up help when no tool fits or one has failed. query: the whole question, clear by itself."""
    context = runtime.context
    call, lang = runtime.tool_call_id or "", runtime.state["lang"]
    return await context.help.ask(HelpRequest(query, lang, context.thread, call, emitter(runtime)))
