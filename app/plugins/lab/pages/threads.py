"""The pages on threads: the list, one thread, its state at each kept turn, its trace test, and its replay."""

from typing import Annotated, get_args
from urllib.parse import quote, urlencode

from fastapi import HTTPException, Query, Response

from agents.state.verdict import Kind as Verdict
from app.doors.http.exchange import LONGEST_NAME, PRINTABLE
from app.plugins.lab.folder import named_after
from app.plugins.lab.going_back import go_back, state_after
from app.plugins.lab.pages.visit import Nested, Number, Text, Visiting, as_file, led_to, new_router
from app.plugins.lab.thread_search import ThreadQuery, ThreadSearch
from app.plugins.lab.threads import desk_from, keep_turn, replay, view
from app.plugins.lab.trace_test import test_of
from app.plugins.lab.turn_notes import TurnNote, note
from app.plugins.lab.variants import LabVariant
from app.presentation.lines import first_line, state_lines
from app.presentation.texts import say
from app.yaml_file import validated

router = new_router()
Name = Annotated[str, Query(min_length=1, max_length=LONGEST_NAME, pattern=PRINTABLE)]


def address_of(thread: str) -> str:
    """Return the address of a thread's page."""
    return f"/lab/thread?name={quote(thread, safe='')}"


@router.get("/lab/threads")
async def threads(visit: Visiting, query: Annotated[ThreadQuery, Query()]) -> str:
    """List the threads that match the query, the latest first."""
    page = await ThreadSearch(visit.assistant, query).page()
    rows = [(address_of(info.thread), info, first_line(info)) for info in page.rows]
    wanted = {name: value for name, value in query.model_dump(exclude_defaults=True).items() if name != "before"}
    more = None if page.next is None else f"/lab/threads?{urlencode({**wanted, 'before': page.next})}"
    return visit.page("threads", rows=rows, query=query, more=more, is_asked=bool(wanted), verdicts=get_args(Verdict))


@router.get("/lab/thread")
async def thread(visit: Visiting, name: Name) -> str:
    """Show one thread."""
    state, turns = await view(visit.assistant, name)
    return visit.page("threads/one", thread=name, turns=turns, state=state_lines(state) if state else [])


@router.get("/lab/thread/state")
async def state(visit: Visiting, name: Name, turn: int) -> str:
    """Show the state at the end of a kept turn."""
    facts = await state_after(visit.assistant, name, turn)
    if facts is None:
        raise HTTPException(404)
    return visit.draw("state", state=state_lines(facts), turn=turn, name=name)


@router.post("/lab/thread/note")
async def write_note(visit: Visiting, name: Text, message: Text, labels: Text = "", text: Text = "") -> str:
    """Keep the visitor's note on a turn."""
    if await visit.assistant.message(name, message) is None:
        raise HTTPException(404)
    own = dict.fromkeys(" ".join(label.split()) for label in labels.split(",") if label.strip())
    noted = validated(TurnNote, {"labels": [*own], "text": text.strip(), "by": visit.visitor.holder})
    await note(visit.assistant.memory.store, name, message, noted)
    return visit.draw("note", thread=name, id=message, note=noted, is_saved=True)


@router.post("/lab/thread/back")
async def back(visit: Visiting, name: Text, turn: Number) -> Response:
    """Go back to the end of a kept turn."""
    state, turns = await view(visit.assistant, name)
    if turn not in {kept.number for kept in turns if kept.is_kept}:
        raise HTTPException(404)
    lang = state.get("lang") or visit.lang
    async with visit.deed("back", name):
        await go_back(visit.assistant, name, turn, say("gone_back", lang, turn=turn))
    return led_to(address_of(name))


@router.post("/lab/thread/case")
async def as_case(visit: Visiting, name: Text, turn: Number) -> Response:
    """Keep one turn as a case, with the state at its beginning."""
    return led_to(f"/lab/case?name={await keep_turn(visit.assistant, visit.settings, name, turn)}")


@router.post("/lab/thread/desk")
async def try_from(visit: Visiting, name: Text, turn: Number) -> Response:
    """Begin a session of the desk with the end of a kept turn."""
    session = await desk_from(visit.assistant, name, turn)
    return led_to(f"/lab/desk/session?name={visit.folder.add('desk', named_after(f'{name} {turn}'), session)}")


@router.get("/lab/thread/test", response_model=None)
async def as_trace_test(visit: Visiting, name: Name, download: bool = False) -> Response | str:
    """Show the thread as a trace test, or give it as a file."""
    source, remark = await test_of(visit.assistant, name, visit.lang)
    if download:
        return as_file(source, f"test_{named_after(name)}.py")
    return visit.draw("test", source=source, remark=remark, name=name)


@router.post("/lab/thread/replay")
async def replayed(visit: Visiting, form: Nested) -> str:
    """Play the thread's messages with another model, and show both traces side by side."""
    variant = validated(LabVariant, form.get("variant", {}))
    await visit.check_model(variant.model, "variant", "model")
    records = await visit.assistant.records(str(form.get("name", "")))
    return visit.draw("replayed", turns=await replay(visit.settings, records, variant))
