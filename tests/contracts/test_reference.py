"""`docs/reference.md` says what the code says."""

import jsonschema
import pytest

from agents.events.views import KINDS
from app.testing import Chat
from app.testing.script import Call
from tests.support import reference
from tests.support.pages import page
from tests.support.parts import EVERY_PART


@pytest.mark.needs(*EVERY_PART)
def test_the_page_is_up_to_date() -> None:
    """It is what `make reference` writes."""
    assert reference.page() == page("docs/reference.md")


@pytest.mark.needs("planner", "profile")
async def test_events_fit_their_schemas(chat: Chat) -> None:
    """The events of a conversation with a handoff, a tool and a question fit the schemas on the page."""
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "milk"})],
        planner=[Call("add_todos", {"items": ["milk", "tea"]}), "Noted.", Call("delete_todos", {"numbers": [1, 2]})],
    )
    schemas = {(kind.type, getattr(kind, "kind", "")): reference.schema_of(kind) for kind in reference.event_kinds()}
    await chat.says("I have a wish")
    first_events = list(chat.events)
    await chat.says("remove all that")
    names = set()
    for event in (event.plain() for event in [*first_events, *chat.events]):
        is_view = event["type"] == "view"
        jsonschema.validate(event, schemas[event["type"], event["kind"] if is_view else ""])
        names.add(event["type"])
    assert {"turn.start", "handover", "tool.start", "tool.end", "message", "interrupt", "turn.end"} <= names


def test_every_view_is_there() -> None:
    """The schema of each kind of view is on the page."""
    kinds = {getattr(kind, "kind", "") for kind in reference.event_kinds() if kind.type == "view"}
    assert kinds == {*KINDS}
