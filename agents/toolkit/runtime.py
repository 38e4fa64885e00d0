"""What a tool is given beside its arguments."""

from typing import Any

from langgraph.prebuilt import ToolRuntime

from agents.context import Context

Runtime = ToolRuntime[Context, Any]
"""`runtime.context` is the turn's `Context` (user, thread, device …), `runtime.state` the state of the graph with
`lang`, `runtime.store` the user's long-term memory, `runtime.tool_call_id` the id of this call.

A parameter of this type is set by the system; no model sees it.
"""
