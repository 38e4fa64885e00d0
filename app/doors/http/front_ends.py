"""Front ends that speak for people: what they wrap around the words that somebody typed is not theirs."""

import re
from collections.abc import Sequence

WRAPPED = "### Task:\nRespond to the user query"
"""Begins the templates of Open WebUI for files, search results and knowledge."""
QUERIES: Sequence[tuple[str, str]] = (("<user_query>\n", "\n</user_query>"), ("\n</context>\n", ""))
"""What stands before and behind the words in them. Nothing that a document says stands behind its last occurrence."""
RESULT = re.compile(r"\nTool `[^`\n]{1,200}` Output: ")
"""Begins what Open WebUI adds behind the words of a tool's result."""
TASKS = (
    "### Task:",
    "You have been provided with a set of responses from various models to the latest user query:",
    "Your task is to reflect the speaker's likely facial expression",
)
"""Begin templates in which nobody typed a word: for titles and queries, for merging answers, for a face."""
TAG = re.compile(r"<(/?[A-Za-z][\w-]{0,100})")
CLOSING = re.compile(r"</[A-Za-z][\w-]{0,100}>")
MOST_BLOCKS = 20
"""Elements before the words that are looked at."""
OF_PERSON = re.compile("user|query|question|prompt|input|message|request", re.IGNORECASE)
"""Is in the names of elements in which what a person typed may stand."""
SPACE = re.compile(r"\s*")
PASSING = "local:"
"""Begins the id that Open WebUI gives a chat that it does not keep; several such chats have the same one."""


def unwrapped(text: str) -> tuple[str, str]:
    """Return what a person typed, and all the rest: text that somebody else wrote.

    Of an unknown wrapping nobody knows what was typed, so that all of it is the rest.
    """
    begin = _behind_blocks(text)
    if begin and text[begin:].lstrip().startswith(WRAPPED):
        words, foreign = unwrapped(text[begin:].lstrip())
        return (words, text[:begin] + foreign) if words else ("", text)
    if begin and not CLOSING.search(text, begin):
        return text[begin:].strip(), text[:begin]
    result = RESULT.search(text)
    if not text.startswith(WRAPPED):
        typed = text[: result.start()] if result else text
        is_unknown = typed.startswith(TASKS) or _has_block(typed)
        return ("", text) if is_unknown else (typed.strip() if result else typed, text[len(typed) :])
    stripped = text.rstrip()
    for before, behind in QUERIES:
        begin = stripped.rfind(before) + len(before)
        # A tool's result may tell where the context ends, and a document may look like the result of a tool.
        if begin >= len(before) and stripped.endswith(behind) and not result:
            typed = stripped[begin : len(stripped) - len(behind)].strip()
            start = _behind_blocks(typed)
            # A list of files may stand within the template, before the words.
            start = 0 if CLOSING.search(typed, start) else start
            return typed[start:].strip(), text[:begin] + typed[:start]
    return "", text


def _behind_blocks(text: str) -> int:
    """Return where the elements of several lines end with which a text begins; 0 if words may stand in one of them.

    An element ends with its last closing tag: what stands in it may have such a tag as well.
    """
    begin = 0
    for _ in range(MOST_BLOCKS):
        space = SPACE.match(text, begin)
        opening = TAG.match(text, space.end() if space else begin)
        if opening is None:
            break
        closing = f"</{opening[1]}>"
        end = text.rfind(closing, begin)
        if "\n" not in text[begin : max(end, begin)] or OF_PERSON.search(opening[1]):
            return 0
        begin = end + len(closing)
    return begin if text[begin:].strip() else 0


def _has_block(text: str) -> bool:
    """Tell whether a text has an element of several lines, as XML and HTML have them."""
    opened = set[str]()
    for line in text.splitlines():
        end = line.rstrip()
        closing = TAG.match(end, end.rfind("<")) if end.endswith(">") else None
        if closing and closing[1].removeprefix("/") in opened and closing[1].startswith("/"):
            return True
        if opening := TAG.match(line):
            opened.add(opening[1])
    return False
