"""Calibration: the gate's thresholds for one installation, from the verdicts on its own conversations."""

from agents.plugin import Plugin

plugin = Plugin(command_line="app.plugins.calibration.command_line")
