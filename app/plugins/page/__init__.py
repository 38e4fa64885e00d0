"""The chat page: people talk with the assistant in a browser, at `/`."""

from agents.plugin import Plugin

plugin = Plugin(routes=("app.plugins.page.paths",))
