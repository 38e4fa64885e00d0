"""Spans for OpenTelemetry, and LangSmith's leave."""
