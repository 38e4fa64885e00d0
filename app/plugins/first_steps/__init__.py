"""First steps: connect a model (`setup`), watch a conversation (`demo`), begin parts of one's own (`new`)."""

from agents.plugin import Plugin

plugin = Plugin(command_line="app.plugins.first_steps.commands")
