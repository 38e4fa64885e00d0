"""AG-UI: front ends of this protocol run the assistant as an agent, at `/agui`."""

from agents.plugin import Plugin

plugin = Plugin(routes=("app.plugins.agui.runs",))
