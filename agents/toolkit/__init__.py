'''The interface of tools; the one import for people who write tools.

A tool is a function with `@tool` of LangChain above it. Its docstring tells the model its purpose:

    @tool
    def roll_dice(sides: int = 6) -> str:
        """Roll a die. sides: how many sides it has."""
        return str(random.randint(1, sides))

A parameter `runtime: Runtime` is set by the system. `@traits` says how the tool may be used, `result` adds a view:

    @traits(effect="write", key=("order",), permission="orders")
    @tool(response_format="content_and_artifact")
    async def cancel_order(order: Annotated[str, Opaque("order")], runtime: Runtime) -> Answer:
        """Cancel an order."""
        if await shop.is_sent(order):
            raise Refused("It is on its way already.")
        return result({"cancelled": True}, view=Notice(message="The order is cancelled."))

A blocking function runs in a thread of its own. So does a class-based tool of LangChain; `traits` goes above its class
or around an instance. `docs/write-a-tool.md` tells more.

Put the tools into `Dialog(tools=...)` or `SUPERVISOR_TOOLS`.
'''

from agents.events.views import CardList, Document, Entry, Link, Notice, Player, Table
from agents.language.identifiers import Opaque
from agents.toolkit.context import Runtime
from agents.toolkit.handover_tools import hand_back
from agents.toolkit.result import Answer, Failed, Misused, Option, Refused, TooMany, choice, request, result
from agents.toolkit.traits import Traits, traits
