"""A person in the assistant's place: called by users, models and observers, and by themselves (docs/seat.md)."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial

from langchain_core.tools import BaseTool
from pydantic import Field

from agents.events import Observed
from agents.events.views import Notice
from agents.memory import Memory
from agents.memory.notices import NoticeSource
from agents.plugin import Events, PlayTurn, Plugin, PluginSettings, TurnRequest
from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.services import Services
from app.plugins.seat.operator_chat import SeatChats
from app.plugins.seat.seats import TABLES, Seats
from app.plugins.seat.tool import call_a_person
from app.settings import UserNumbers
from prompts import sentence

BACK = "back"


class SeatSettings(PluginSettings):
    """The limits of waiting for a person, and the operators' chat with its people."""

    seat_wait: int = Field(default=0, ge=0)
    seat_away: int = Field(default=1_800, ge=0)
    operator_chat: int | None = None
    operator_users: UserNumbers = "*"


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the seats, and the chat of the operators if there is one."""
    settings = services.get(SeatSettings)
    seats = Seats(services.get(Memory), wait=settings.seat_wait, away=settings.seat_away)
    chat = settings.operator_chat
    yield [seats] if chat is None else [seats, SeatChats(chat, settings.operator_users)]


def tools(settings: SeatSettings) -> Sequence[BaseTool]:
    """Return the tool that calls a person, where one can be called."""
    return [call_a_person] if settings.seat_wait else []


def moved(services: Services) -> Sequence[NoticeSource]:
    """Return the source of calls and messages that have waited too long."""
    return [services.get(Seats).moved]


async def held(request: TurnRequest, play: PlayTurn) -> Events:
    """Leave a message to the person who holds the thread; else bring the notes of a person who has handed it back.

    The user gets a notice of a person whom an observer has called.
    """
    entry, seats = request.entry, request.context.services.get(Seats)
    request.held_by, waiting = await seats.met(entry.thread)
    if request.held_by:
        await seats.note_waiting(entry.thread)
        return
    if waiting and request.update is not None and (notes := await seats.notes_for(entry.thread, entry.message_id)):
        request.update["heard"]["quoted"] = [*request.update["heard"].get("quoted", []), *notes]
    called = partial(seats.called_since, entry.thread)
    if request.is_resumed and (text := await called(entry.received_ms)):
        yield Notice(message=text)
    begun_ms = seats.now_ms()
    async with aclosing(play(request)) as events:
        async for event in events:
            yield event
            is_call = isinstance(event, Observed) and event.verdict == "person"
            if is_call and (text := await called(begun_ms)):
                yield Notice(message=text)


async def person(call: CommandCall) -> str:
    """Call a person to the conversation, or go back to the assistant."""
    seats, say = call.services.get(Seats), partial(sentence, "seat/phrases")
    if call.argument == BACK:
        if await seats.leave(call.thread):
            # The user gets a notice of it.
            return ""
        return say("withdrawn" if await seats.withdraw(call.thread) else "not_called", call.lang)
    if holder := await seats.holder(call.thread):
        return say("is_here", call.lang, name=holder)
    if not seats.wait:
        return say("none", call.lang)
    await seats.call(call.thread, call.user, call.lang, "user", call.argument)
    return say("called_by_user", call.lang)


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the seats, words and notes of a thread, and all those of the users."""
    await services.get(Seats).erase(thread, users)


plugin = Plugin(
    settings=SeatSettings,
    tables=TABLES,
    services=opened,
    tools=tools,
    commands=[SlashCommand(name="person", run=person, description=partial(sentence, "seat/phrases", "command"))],
    command_line="app.plugins.seat.command",
    routes=("app.plugins.seat.page",),
    notices=moved,
    forget=forget,
    around_turn=held,
)
