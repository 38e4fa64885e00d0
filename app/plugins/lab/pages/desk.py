"""The pages on the desk: sessions in which the visitor plays the model, and their export."""

from collections.abc import Sequence

from fastapi import HTTPException, Response
from pydantic import BaseModel

from app.plugins.lab.desk import Desk, ExportForm, sitting
from app.plugins.lab.desk_export import jsonl_of
from app.plugins.lab.desk_session import DeskCall, DeskSession
from app.plugins.lab.forms import arguments_of
from app.plugins.lab.pages.visit import FileName, LabVisit, Nested, Number, Text, Visiting, as_file, led_to, new_router
from app.yaml_file import validated
from prompts import languages

router = new_router()


class ReplyForm(BaseModel):
    """The visitor's reply for the model; each argument of a call is a text."""

    name: str
    text: str = ""
    calls: Sequence[DeskCall] = ()


@router.post("/lab/desk")
def begin(visit: Visiting, form: Nested) -> Response:
    """Begin a session."""
    session = validated(DeskSession, {key: form[key] for key in ("about", "lang", "user", "device") if key in form})
    if session.lang not in languages():
        raise HTTPException(422)
    return led_to(f"/lab/desk/session?name={visit.folder.add('desk', str(form.get('file', '')), session)}")


@router.get("/lab/desk/session")
async def session(visit: Visiting, name: FileName) -> str:
    """Show a session to be played on."""
    return visit.page("desk/one", file=name, desk=await _desk(visit, name))


@router.get("/lab/desk/seat")
async def seat(visit: Visiting, name: FileName) -> str:
    """Show the state of a session; waits for the next model call."""
    return await _seat(visit, await _desk(visit, name))


@router.post("/lab/desk/say")
async def say(visit: Visiting, name: Text, text: Text = "") -> str:
    """Say something as the user."""
    desk = await _desk(visit, name)
    desk.say(text)
    return await _seat(visit, desk)


@router.post("/lab/desk/reply")
async def reply(visit: Visiting, form: Nested) -> str:
    """Answer for the model."""
    reply_form = validated(ReplyForm, form)
    desk = await _desk(visit, reply_form.name)
    schema = desk.wanted.schema if desk.wanted else lambda _: {}
    calls = [
        DeskCall(tool=call.tool, args=arguments_of(schema(call.tool), call.args, call.tool, ("calls", place, "args")))
        for place, call in enumerate(reply_form.calls)
    ]
    await desk.reply(reply_form.text, calls)
    return await _seat(visit, desk)


@router.post("/lab/desk/back")
async def back(visit: Visiting, name: Text, steps: Number) -> str:
    """Go back to the end of this step."""
    desk = await _desk(visit, name)
    await desk.back(visit.settings, steps)
    return await _seat(visit, desk)


@router.get("/lab/desk/export")
async def export(visit: Visiting, name: FileName, form: ExportForm) -> Response:
    """Give the session as a file: lines for fine-tuning, or a trace test."""
    if form == "jsonl":
        return as_file(jsonl_of(visit.folder.read("desk", name, DeskSession)), f"{name}.jsonl")
    return as_file(await (await _desk(visit, name)).as_test(visit.lang), f"test_{name}.py")


async def _desk(visit: LabVisit, name: str) -> Desk:
    return await visit.benches.desks.of(name, lambda stack: stack.enter_async_context(sitting(visit.settings, name)))


async def _seat(visit: LabVisit, desk: Desk) -> str:
    await desk.settle()
    return visit.draw("desk_seat", file=desk.name, desk=desk)
