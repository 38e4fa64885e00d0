"""Tools that simply return what they found, of whatever kind: the model reads JSON, with numbers for identifiers."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.language.identifiers import Opaque
from agents.toolkit.traits import traits
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")

BEGIN: list[Line] = [Call("plan_things", {"brief": "my parcels"})]
LONG = "7f9c24e8-3b12-4d5a-9c1e-000000000001"
UserId = Annotated[str, Opaque("user")]


class Colour(Enum):
    """The colours of a parcel's wrapping."""

    RED = "red"


class User(BaseModel):
    """Somebody, by an identifier that no model sees."""

    id: UserId
    born: date = date(2000, 1, 2)


@dataclass
class Sender:
    """The same as a dataclass."""

    id: str


class Opened:
    """Something that JSON has nothing for."""


FOUND: dict[str, Any] = {
    "model": User(id=LONG),
    "list": [User(id=LONG), User(id="other")],
    "tuple": (User(id=LONG),),
    "dataclass": Sender(LONG),
    "dict": {"id": LONG, "sent": date(2026, 1, 2), "colour": Colour.RED, "weight": Decimal("1.50"), "of": UUID(LONG)},
    "text": f'{{"id": "{LONG}"}}',
    "sentence": "Nobody is there.",
    "strange": {"id": LONG, "file": Opened()},
}


@traits(result=User)
@tool
async def find(kind: str) -> Any:
    """Find users."""
    return FOUND[kind]


@traits(result=User)
@tool
def look(kind: str) -> Any:
    """Find users, in a function that blocks."""
    return FOUND[kind]


@traits(result=User)
@tool(response_format="content_and_artifact")
async def pair(kind: str) -> Any:
    """Find users, with something beside for a program."""
    return FOUND[kind], object()


@tool
async def undeclared(kind: str) -> Any:
    """Find something of which nothing is said."""
    return FOUND[kind]


@pytest.fixture(autouse=True)
def finding(chat: Chat) -> None:
    """Give the planner these tools alone."""
    chat.speakers = changed(chat.speakers, "planner", tools=[find, look, pair, undeclared])


async def read(chat: Chat, name: str, kind: str) -> str:
    """Return the model's text of a tool's result."""
    chat.expects(supervisor=BEGIN, planner=[Call(name, {"kind": kind}), "Seen."])
    await chat.says("Who sent it?")
    [text] = [message.text for message in await chat.messages("planner") if message.type == "tool"]
    return str(text)


@pytest.mark.parametrize(("name", "kind", "told"), [
    ("find", "model", '{"id":1,"born":"2000-01-02"}'),
    ("look", "model", '{"id":1,"born":"2000-01-02"}'),
    ("pair", "model", '{"id":1,"born":"2000-01-02"}'),
    ("find", "list", '[{"id":1,"born":"2000-01-02"},{"id":2,"born":"2000-01-02"}]'),
    ("look", "tuple", '[{"id":1,"born":"2000-01-02"}]'),
    ("pair", "dataclass", '{"id":1}'),
    ("find", "dict", f'{{"id":1,"sent":"2026-01-02","colour":"red","weight":"1.50","of":"{LONG}"}}'),
    ("look", "text", '{"id":1}'),
    ("pair", "sentence", "Nobody is there."),
])  # fmt: skip
async def test_what_a_plain_tool_returns_is_json_and_hidden(chat: Chat, name: str, kind: str, told: str) -> None:
    """Models, dataclasses, dates and the like are written as JSON, identifiers as numbers."""
    assert await read(chat, name, kind) == told


async def test_what_is_not_declared_is_json_all_the_same(chat: Chat) -> None:
    """Without a declared result nothing is hidden, but no model reads Python."""
    assert await read(chat, "undeclared", "model") == f'{{"id":"{LONG}","born":"2000-01-02"}}'


async def test_what_json_has_nothing_for_is_not_told_in_another_way(chat: Chat) -> None:
    """As Python writes it, its identifiers could not be hidden: the tool has failed."""
    told = await read(chat, "find", "strange")
    assert told.startswith(phrase("tool_failed", "en", tool="find"))
    assert LONG not in told
