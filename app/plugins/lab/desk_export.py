"""A session of the desk as lines for fine-tuning, with random identifiers in place of the real ones."""

import json
import random
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from langchain_core.messages import convert_to_openai_messages

from agents.language.identifiers import spelled
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.refusal import LabRefusal

PLAIN = re.compile(
    r"""[\w.+-]+@[\w-]+(?:\.[\w-]+)+  # an email address
    |\b[A-Z]{1,4}[-_]?\d{4,}\b|\b\d{7,}\b  # a number of an order, of a parcel, of a telephone
    |\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b""",
    re.VERBOSE,
)
"""The shape of identifiers, whether or not a tool marks them as such."""
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A text within JSON."""
SHORTEST = 4
"""Characters of an identifier that may not stand within another word either; a shorter one may by chance."""


def jsonl_of(session: DeskSession, chance: random.Random | None = None) -> str:
    """Return a line of JSON for each call of a model: `messages` with the reply at their end, and `tools`.

    Random identifiers stand for the real ones, the same within a line, others in the next. A turn that is not over is
    left out.

    Raises UsageError: there is no reply, or a real identifier would be left.
    """
    chance = chance or random.SystemRandom()
    lines = []
    for line in _chats(session):
        real = _identifiers(session, line)
        lines.append(checked(_swapped(json.dumps(line, ensure_ascii=False), real, chance), real))
    if not lines:
        raise LabRefusal("nothing_answered")
    return "\n".join(lines) + "\n"


def checked(line: str, identifiers: Sequence[str]) -> str:
    """Return a line that has none of the identifiers. Raises UsageError: it has one."""
    for identifier in identifiers:
        written = json.dumps(identifier, ensure_ascii=False)[1:-1]
        within = len(identifier) >= SHORTEST and written.casefold() in line.casefold()
        if within or _word(written).search(line):
            raise LabRefusal("identifier_left", identifier=identifier)
    return line


def _chats(session: DeskSession) -> Iterator[dict[str, Any]]:
    numbers = count()
    for turn in session.turns:
        for reply in turn.replies if turn.is_over else ():
            answer = convert_to_openai_messages(reply.message(next(numbers)))
            tools = session.pooled(reply.tools)
            yield {"messages": [*session.pooled(reply.prompt), answer]} | ({"tools": tools} if tools else {})


def _identifiers(session: DeskSession, line: Mapping[str, Any]) -> list[str]:
    """Return the identifiers that no export may hold: from tools, from the user's words in calls, and `PLAIN` ones."""
    written = {word for turn in session.turns for word in spelled([turn.user])}
    calls = [call for turn in session.turns for reply in turn.replies for call in reply.calls]
    passed = {text for call in calls for text in _texts(dict(call.args))}
    texts = "\n".join(_texts([message.get("content") for message in line["messages"]]))
    return sorted({*session.identifiers, *(written & passed), *PLAIN.findall(texts)}, key=len, reverse=True)


def _texts(data: object) -> list[str]:
    return [json.loads(text) for text in LITERAL.findall(json.dumps(data))]


def _word(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def _swapped(line: str, identifiers: Sequence[str], chance: random.Random) -> str:
    """Return the line of JSON with a random identifier of the same shape in place of each real one."""
    stand_ins: dict[str, str] = {}
    for identifier in identifiers:
        taken = [*identifiers, *stand_ins.values()]
        stand_ins[identifier.casefold()] = _alike(identifier, chance, taken)
    if not stand_ins:
        return line
    either = re.compile("|".join(_word(identifier).pattern for identifier in identifiers), re.IGNORECASE)

    def swapped(literal: re.Match[str]) -> str:
        text = either.sub(lambda match: stand_ins[match[0].casefold()], json.loads(literal[0]))
        return json.dumps(text, ensure_ascii=False)

    return LITERAL.sub(swapped, line)


def _alike(identifier: str, chance: random.Random, taken: Sequence[str]) -> str:
    """Return a random text with digits and letters where the identifier has them."""
    kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    for _ in range(100):
        text = "".join(chance.choice(next((kind for kind in kinds if char in kind), char)) for char in identifier)
        if text not in taken:
            return text
    raise LabRefusal("identifier_alone", identifier=identifier)
