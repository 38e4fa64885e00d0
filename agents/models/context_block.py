"""Data in a user message: what the application adds to the user's words, delimited so that it is data to a model."""

import re
from collections.abc import Iterable

TAG = "context"
"""The name of the element that holds the data; the role prompts say what it means."""
_DELIMITER = re.compile(rf"<(/?\s*{TAG})", re.IGNORECASE)


def context_block(parts: Iterable[str]) -> str:
    """Return the parts as one delimited block; a delimiter inside a part loses its meaning. Empty without parts."""
    lines = "\n".join(part for part in parts if part.strip())
    return f"<{TAG}>\n{undelimited(lines)}\n</{TAG}>" if lines else ""


def undelimited(text: str) -> str:
    """Return a text in which nothing begins or ends a block: `<` before the block's name becomes `‹`."""
    return _DELIMITER.sub(r"‹\1", text)
