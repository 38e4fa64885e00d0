"""A2A: other agents find the assistant by its card and give it tasks, at `/a2a`. Its package is an extra."""

from agents.plugin import Plugin

plugin = Plugin(packages=("a2a",), extra="a2a", routes=("app.plugins.a2a.paths",))
