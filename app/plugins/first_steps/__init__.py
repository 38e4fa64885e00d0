"""First steps: connect a model (`setup`), watch a talk (`demo`), begin parts and try them (`new`, `tools try`)."""

from agents.plugin import Plugin

plugin = Plugin(command_line="app.plugins.first_steps.commands")
