"""assistant_help: the way out when no other tool fits or one has failed."""

from langchain_core.tools import tool

from agents.toolkit.context import Context, emitter
from agents.toolkit.help import HelpRequest
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import traits


def _reaches_out(context: Context) -> bool:
    return context.help.reaches_out


@traits(egress=_reaches_out, foreign=_reaches_out)
@tool
async def assistant_help(query: str, runtime: Runtime) -> str:
    """Look up help when no tool fits or one has failed. query: the whole question, clear by itself."""
    context = runtime.context
    call, lang = runtime.tool_call_id or "", runtime.state["lang"]
    return await context.help.ask(HelpRequest(query, lang, context.thread, call, context.user, emitter(runtime)))
