"""The pages on tools: cards edited, with the requests that find them shown at once; mocks, written and recorded."""

import asyncio
from typing import Annotated

from fastapi import Form, HTTPException, Query, Response
from pydantic import AfterValidator

from app.mocks import TYPES, Mock, MockOutcome
from app.plugins.lab.cards import card_text, draft_file, effect, queries_of
from app.plugins.lab.folder import named_after
from app.plugins.lab.forms import mock_of
from app.plugins.lab.pages.visit import FileName, Nested, Text, Visiting, led_to, new_router
from app.plugins.lab.threads import keep_mocks
from app.presentation.tool_card import cards, owned_tools, slots, write_card
from prompts import languages

router = new_router()
ToolName = Annotated[str, Query(max_length=64)]
# A browser ends lines with a carriage return, too.
CardText = Annotated[str, Form(), AfterValidator(lambda text: text.replace("\r", ""))]


@router.get("/lab/tools")
def tools(visit: Visiting) -> str:
    """List the cards."""
    return visit.page("tools", cards=cards(visit.assistant.speakers, languages()))


@router.get("/lab/tool")
def tool(visit: Visiting, name: ToolName, lang: ToolName) -> str:
    """Show a card to be edited."""
    every_card = cards(visit.assistant.speakers, languages())
    card = next((card for card in every_card if card.name == name), None)
    if card is None or lang not in languages():
        raise HTTPException(404)
    text, is_draft = card_text(visit.folder, name, lang), draft_file(visit.folder, name, lang).is_file()
    return visit.page("tools/one", card=card, card_lang=lang, text=text, is_draft=is_draft)


@router.post("/lab/tool/effect")
async def show_effect(visit: Visiting, name: Text, lang: Text, text: CardText = "") -> str:
    """Show which requests the card on the page finds, and which it no longer does."""
    queries = await queries_of(visit.assistant, visit.folder)
    changes = await asyncio.to_thread(effect, visit.assistant.speakers, name, lang, text, queries)
    return visit.draw("effect", name=name, effect=changes)


@router.post("/lab/tool")
async def save_draft(visit: Visiting, name: Text, lang: Text, text: CardText = "") -> Response:
    """Keep a draft of a card in the lab's folder."""
    owned = owned_tools(visit.assistant.speakers).get(name)
    if owned is None or lang not in languages():
        raise HTTPException(404)
    async with visit.deed("card_changed", about=name):
        write_card(draft_file(visit.folder, name, lang), "", text, slots(owned))
    return led_to(f"/lab/tool?name={name}&lang={lang}")


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
    """Show what the mock on the page would answer to a call."""
    mock, args = mock_of(form), form.get("args")
    return visit.draw("tried", outcome=mock.outcome(args if isinstance(args, dict) else {}), mock=mock)


@router.post("/lab/mocks/from-thread")
async def record(visit: Visiting, name: Text, tools: Text = "") -> Response:
    """Keep what tools answered in a thread as mocks."""
    keep_mocks(visit.settings, await visit.assistant.records(name), tools.split())
    return led_to("/lab/mocks")
