"""What we claim, counted and timed: each claim is a command, `python -m benchmarks.<name>`."""

# Before anything of LangGraph: strict msgpack is read once, at its first import.
import app  # noqa: F401
