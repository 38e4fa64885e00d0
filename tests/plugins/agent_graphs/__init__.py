"""Graphs of LangGraph that answer for a dialog."""
