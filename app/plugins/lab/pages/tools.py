"""The pages on tools: cards edited, with the requests that find them shown at once; mocks, written and recorded."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, HTTPException, Query, Response
from pydantic import AfterValidator

from app.plugins.lab.cards import effect, queries_of
from app.plugins.lab.folder import named_after
from app.plugins.lab.forms import mock_of
from app.plugins.lab.live_texts import (
    CHANGED,
    TextKind,
    changes_of,
    check_text,
    draft_file,
    editable,
    keep_draft,
    make_live,
    put_back,
    text_of,
)
from app.plugins.lab.mocks import TYPES, Mock, MockOutcome
from app.plugins.lab.pages.visit import FileName, LabVisit, Nested, Text, Visiting, led_to, new_router
from app.plugins.lab.played_turn import play
from app.plugins.lab.threads import keep_mocks
from app.plugins.lab.variants import LabVariant, staged_as
from app.presentation.tool_card import cards, openings_by_dialog
from prompts import FALLBACK, languages, prompt

router = new_router()
MOST_TRIED = 10
"""The most messages in a trial of a prompt."""
PAGE_OF: Mapping[TextKind, str] = {"card": "tool", "prompt": "prompt"}
ToolName = Annotated[str, Query(max_length=64)]
# A browser ends lines with a carriage return, too.
CardText = Annotated[str, Form(), AfterValidator(lambda text: text.replace("\r", ""))]


@router.get("/lab/tools")
def tools(visit: Visiting) -> str:
    """List the cards of tools, the prompts of dialogs, and the changes that were made live."""
    speakers = visit.assistant.speakers
    every_card = cards(speakers, languages())
    return visit.page("tools", cards=every_card, prompts=editable(speakers), changes=changes_of(visit.folder))


@router.get("/lab/tool")
def tool(visit: Visiting, name: ToolName, lang: ToolName) -> str:
    """Show a card to be edited."""
    every_card = cards(visit.assistant.speakers, languages())
    card = next((card for card in every_card if card.name == name), None)
    if card is None or lang not in languages():
        raise HTTPException(404)
    return _text_page(visit, "card", name, lang, card=card)


@router.get("/lab/prompt")
def shown_prompt(visit: Visiting, name: ToolName, lang: ToolName) -> str:
    """Show the prompt of a dialog to be edited."""
    if name not in editable(visit.assistant.speakers) or lang not in languages():
        raise HTTPException(404)
    sample = openings_by_dialog(visit.assistant.speakers, lang).get(name, "")
    return _text_page(visit, "prompt", name, lang, card=None, sample=sample)


def _text_page(visit: LabVisit, kind: TextKind, name: str, lang: str, **facts: object) -> str:
    text, is_draft = text_of(visit.folder, kind, name, lang), draft_file(visit.folder, kind, name, lang).is_file()
    facts |= {"kind": kind, "name_of": name, "text_lang": lang, "text": text, "is_draft": is_draft}
    return visit.page("tools/one", **facts, changes=changes_of(visit.folder, kind, name))


@router.post("/lab/prompt/try")
async def try_prompt(visit: Visiting, name: Text, lang: Text, said: Text, text: CardText = "") -> str:
    """Play messages with the prompt on the page, on an empty database."""
    check_text(visit.assistant.speakers, "prompt", name, lang, text)
    roles = {FALLBACK: prompt(f"{name}/prompt", FALLBACK), lang: text}
    lines = [line.strip() for line in said.splitlines() if line.strip()][:MOST_TRIED]
    async with staged_as(visit.settings, LabVariant(prompts={name: roles})) as assistant:
        return visit.draw("tried_prompt", turns=[await play(assistant, line, lang=lang) for line in lines])


@router.post("/lab/tool/effect")
async def show_effect(visit: Visiting, name: Text, lang: Text, text: CardText = "") -> str:
    """Show the requests that find the card on the page, and those that no longer do."""
    queries = await queries_of(visit.assistant, visit.folder)
    changes = await asyncio.to_thread(effect, visit.assistant.speakers, name, lang, text, queries)
    return visit.draw("effect", name=name, effect=changes)


@router.post("/lab/text")
async def save_text(
    visit: Visiting,
    kind: Annotated[TextKind, Form()],
    name: Text,
    lang: Text,
    *,
    text: CardText = "",
    live: Annotated[bool, Form()] = False,
) -> Response:
    """Keep a text as a draft in the lab's folder; or make it live, if the visitor is an operator."""
    if live and not visit.visitor.allows("operate"):
        raise HTTPException(403)
    speakers = visit.assistant.speakers
    async with visit.deed(CHANGED[kind], about=name):
        if live:
            make_live(visit.folder, speakers, kind, name, lang, text, visit.visitor.holder)
        else:
            keep_draft(visit.folder, speakers, kind, name, lang, text)
    return led_to(f"/lab/{PAGE_OF[kind]}?name={name}&lang={lang}")


@router.post("/lab/text/back")
async def take_back(visit: Visiting, change: Text) -> Response:
    """Make the text from before a change live again."""
    if not visit.visitor.allows("operate"):
        raise HTTPException(403)
    async with visit.deed("text_put_back", about=change):
        done = put_back(visit.folder, visit.assistant.speakers, change, visit.visitor.holder)
    return led_to(f"/lab/{PAGE_OF[done.kind]}?name={done.name}&lang={done.lang}")


@router.get("/lab/mock")
def mock(visit: Visiting, name: FileName = "") -> str:
    """Show a mock to be edited; without a name a new one."""
    shown = (
        visit.folder.read("mocks", name, Mock) if name else Mock(tool="new_tool", outcomes=(MockOutcome(text="ok"),))
    )
    return visit.page("mocks/one", file=name, mock=shown, types=[*TYPES])


@router.post("/lab/mock")
def save_mock(visit: Visiting, form: Nested) -> Response:
    """Write a mock."""
    mock = mock_of(form)
    if file := form.get("file"):
        visit.folder.write("mocks", str(file), mock)
    else:
        visit.folder.add("mocks", named_after(mock.tool), mock)
    return led_to("/lab/mocks")


@router.post("/lab/mock/try")
def attempt(visit: Visiting, form: Nested) -> str:
    """Show the answer of the mock on the page to a call."""
    mock, args = mock_of(form), form.get("args")
    return visit.draw("tried", outcome=mock.outcome(args if isinstance(args, dict) else {}), mock=mock)


@router.post("/lab/mocks/from-thread")
async def record(visit: Visiting, name: Text, tools: Text = "") -> Response:
    """Keep the answers of tools in a thread as mocks."""
    keep_mocks(visit.settings, await visit.assistant.records(name), tools.split())
    return led_to("/lab/mocks")
