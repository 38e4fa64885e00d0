"""The doors and the composition root: the only package that knows all the others."""

import os

# LangGraph reads it once, at its first import: stored threads may then hold plain data only.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
