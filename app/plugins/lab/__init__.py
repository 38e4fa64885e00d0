"""The lab: look at threads, try and judge conversations, mock tools, put agents together, teach (docs/lab.md)."""

from agents.plugin import Plugin
from app.plugins.lab.commands import application
from app.plugins.lab.folder import LabSettings

plugin = Plugin(settings=LabSettings, command_line=application, routes=("app.plugins.lab.pages.router",))
