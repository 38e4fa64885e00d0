"""Our claims, counted and timed: each claim has a command, `python -m benchmarks.<name>`."""

# This line comes before any import of LangGraph, which reads strict msgpack once, at its first import.
import app  # noqa: F401
