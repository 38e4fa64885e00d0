"""The pages on agents: put together by form, tried beside a live trace, shared, compared with earlier versions."""

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Form, Query, Response
from fastapi.responses import HTMLResponse

import observers
from agents.events import trace
from agents.toolkit.descriptions import texts_of
from app.doors.http.answers import Answers
from app.doors.http.pages.conversation import Conversation
from app.doors.http.pages.talk import add_talk
from app.plugins.lab.agent_file import AgentFile
from app.plugins.lab.agents import agent_of, available_tools
from app.plugins.lab.mocks import Mock
from app.plugins.lab.pages.visit import Nested, Text, Visiting, led_to, new_router
from prompts import FALLBACK, languages

router = new_router()
AgentName = Annotated[str, Query(max_length=40)]
NEW = AgentFile(description="Used for …", prompt={FALLBACK: "You help with …"})
THREAD = "trial"


@router.get("/lab/agent")
async def agent(visit: Visiting, name: AgentName = "", version: int = 0) -> str:
    """Show an agent to be edited and tried; without a name a new one."""
    log = (await (await conversation(visit, name)).log())[0] if name else ""
    return visit.page(
        "agents/one",
        file=name,
        agent=visit.workshop.read(name, version) if name else NEW,
        tools=(tools := available_tools()),
        about={it.name: texts_of(it, visit.lang)[0] or it.description for own in tools.values() for it in own},
        observers=sorted(observers.discover(languages())),
        log=log,
    )


@router.post("/lab/agent")
async def save(visit: Visiting, form: Nested) -> Response:
    """Keep an agent as its next version; a mock that it has already stays as it is there."""
    workshop, name = visit.workshop, str(form.get("file", ""))
    await visit.check_model(str(form.get("model", "")), "model")
    own = workshop.read(name).mocks if name in workshop.names() else ()
    by_tool = {mock.tool: mock for mock in (*visit.folder.every("mocks", Mock).values(), *own)}
    workshop.save(name, agent_of(form, [mock for tool, mock in by_tool.items() if tool in form.get("mock", ())]))
    return led_to(f"/lab/agent?name={name}")


@router.post("/lab/agent/share")
async def share(visit: Visiting, file: Text, *, take_back: Annotated[bool, Form()] = False) -> Response:
    """Make an agent a dialog for everybody, or take it back."""
    async with visit.deed("agent_unshared" if take_back else "agent_shared", about=file):
        (visit.workshop.unshare if take_back else visit.workshop.share)(file)
    return led_to(f"/lab/agent?name={file}")


@router.post("/lab/agent/delete")
async def delete(visit: Visiting, file: Text) -> Response:
    """Delete an agent with all its files."""
    # The page asks for news of the trial until it is left, and would open it anew.
    async with visit.deed("agent_deleted", about=file), visit.benches.trials.closed((visit.visitor.holder, file)):
        visit.workshop.delete(file)
    return led_to("/lab/agents")


@router.get("/lab/agent/changes")
def changes(visit: Visiting, name: AgentName, old: int, new: int) -> str:
    """Show the differences of two versions."""
    return visit.draw("changes", lines=visit.workshop.changes(name, old, new))


async def conversation(visit: Visiting, agent: str) -> Conversation:
    """Return the visitor's talk with an agent of theirs. Raises UsageError: there is no such agent."""
    workshop = visit.workshop

    async def opened(stack: AsyncExitStack) -> Conversation:
        assistant = await stack.enter_async_context(workshop.trial(visit.settings, agent))
        answers = Answers(assistant)
        stack.push_async_callback(answers.close)
        return Conversation(assistant, answers, THREAD, THREAD, f"/lab/trial/{agent}", visit.lang)

    talk = await visit.benches.trials.of((visit.visitor.holder, agent), opened, workshop.read(agent).version)
    return replace(talk, lang=visit.lang)


add_talk(router, "/lab/trial/{agent}", conversation)


@router.get("/lab/trial/{agent}/trace", response_model=None)
async def live_trace(
    visit: Visiting, talk: Annotated[Conversation, Depends(conversation)], agent: str, seen: int = -1
) -> Response:
    """Show the trace of the talk so far; nothing if the page shows it already."""
    answers = talk.answers.kept_of(THREAD)
    events = [event for answer in answers for event in answer.events]
    if len(events) == seen:
        return Response(status_code=204)
    return HTMLResponse(visit.draw("live", agent=agent, seen=len(events), trace=trace(events)))
