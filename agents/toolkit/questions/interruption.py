"""Questions by which a tool's `interrupt()` asks: whatever the user says is the answer, unless it is for others."""

INTERRUPT = "interrupt"
"""The kind of such a question."""
