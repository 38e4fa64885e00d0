"""The doors and the composition root: the only package that knows all the others."""

import os

# LangGraph reads this variable once, at its first import. With it, stored threads may hold plain data only.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
