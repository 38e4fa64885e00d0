"""The conversation for LangGraph's own server and Studio; `langgraph.json` names the functions for the server."""

from agents.plugin import Plugin

plugin = Plugin()
