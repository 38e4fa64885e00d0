"""The pages on mocks: a tool's results by form, tried at once, and recorded from a thread."""

from fastapi import Response

from app.agent_files.mocks import TYPES, Mock, Outcome
from app.doors.http.lab.visit import FileName, Nested, Text, Visiting, led_to, new_router
from app.lab.folder import named_after
from app.lab.forms import mock_of
from app.lab.threads import keep_mocks

router = new_router()


@router.get("/lab/mocks")
def mocks(visit: Visiting) -> str:
    """List the mocks."""
    tools = {tool.name for speaker in visit.assistant.speakers for tool in speaker.tools}
    return visit.page("mocks", mocks=visit.folder.every("mocks", Mock), tools=tools)


@router.get("/lab/mock")
def mock(visit: Visiting, name: FileName = "") -> str:
    """Show a mock to be edited; without a name a new one."""
    tools = sorted({tool.name for speaker in visit.assistant.speakers for tool in speaker.tools})
    shown = visit.folder.read("mocks", name, Mock) if name else Mock(tool="new_tool", outcomes=(Outcome(text="ok"),))
    return visit.page("mocks/one", file=name, mock=shown, types=[*TYPES], tools=tools)


@router.post("/lab/mock")
def save(visit: Visiting, form: Nested) -> Response:
    """Write a mock."""
    mock = mock_of(form)
    if file := form.get("file"):
        visit.folder.write("mocks", str(file), mock)
    else:
        visit.folder.add("mocks", named_after(mock.tool), mock)
    return led_to("/lab/mocks")


@router.post("/lab/mock/try")
def attempt(visit: Visiting, form: Nested) -> str:
    """Show what the mock on the page would answer to a call."""
    mock, args = mock_of(form), form.get("args")
    return visit.draw("tried", outcome=mock.outcome(args if isinstance(args, dict) else {}), mock=mock)


@router.post("/lab/mocks/from-thread")
async def record(visit: Visiting, name: Text, tools: Text = "") -> Response:
    """Keep what tools answered in a thread as mocks."""
    keep_mocks(visit.settings, await visit.assistant.records(name), tools.split())
    return led_to("/lab/mocks")
