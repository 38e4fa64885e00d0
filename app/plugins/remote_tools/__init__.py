"""Tools of HTTP services and of MCP servers, from files of an operator (docs/remote-tools.md)."""

from functools import partial
from importlib import import_module
from pathlib import Path

from agents.plugin import OpenTools, Plugin, PluginSettings


class RemoteToolsSettings(PluginSettings):
    """The files of remote tools."""

    remote_tools: Path | None = None
    mcp_servers: Path | None = None


def served_tools(settings: RemoteToolsSettings) -> OpenTools | None:
    """Return the opener of the files' tools; None without files."""
    if not (settings.remote_tools or settings.mcp_servers):
        return None
    return partial(import_module("app.plugins.remote_tools.loader").with_remote_tools, settings)


plugin = Plugin(settings=RemoteToolsSettings, served_tools=served_tools)
