"""`/memory`, `python -m app memory`, and the deletion and export of a person's entries."""

import uuid
from collections.abc import Awaitable, Collection, Sequence
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import UsageError
from agents.memory import Memory
from agents.memory.undo_log import ToolWrite
from agents.plugin import Section
from agents.toolkit.commands import CommandCall, SlashCommand, installation_of, services_of
from agents.toolkit.services import Services
from dialogs.recall.store import ITEMS, KeptEntry, Recall, owner_of
from dialogs.recall.tools import lines_of, said

DELETE, CORRECT, YES = "delete", "correct", "yes"
command_line = typer.Typer(name="memory")


async def _memory(call: CommandCall) -> str:
    """List, correct (`correct 3 text`) or delete (`delete 3 4`, and then with `yes`) the kept entries."""
    owner, recall = owner_of(call.thread, call.user, is_shared=call.is_shared), call.services.get(Recall)
    entries = {entry.number: entry for entry in await recall.of(owner)}
    verb, *words = call.argument.split() or [""]
    if verb not in (DELETE, CORRECT):
        lines = [said("kept", call.lang), *lines_of([*entries.values()], call.lang), said("usage", call.lang)]
        return "\n".join(lines) if entries else said("none", call.lang)
    numbers = [int(word[:9]) for word in (words if verb == DELETE else words[:1]) if word.isdecimal()]
    own = [entries[number] for number in numbers if number in entries and entries[number].user == call.user]
    text = " ".join(words[1:]) if verb == CORRECT else ""
    if not own or len(own) < len(numbers) or (verb == CORRECT and not text):
        return said("unknown", call.lang, numbers=", ".join(map(str, numbers)) or "?")
    items = "; ".join(f"{entry.number}. {text or entry.text}" for entry in own)
    if verb == DELETE and words[-1] != YES:
        return f"{said('delete', call.lang, items=items)} /memory {call.argument} {YES}"
    changes = {str(entry.number): (_value(entry), {**_value(entry), "text": text} if text else None) for entry in own}
    place = {"message": uuid.uuid4().hex, "speaker": "recall", "tool": f"{verb}_memory", "call": "command"}
    # "Undo" in the conversation takes the change back.
    await call.services.get(Memory).undo.enter(ToolWrite(thread=call.thread, user=call.user, **place), ITEMS, changes)
    await recall.save(owner, {entry.number: text for entry in own})
    return said("corrected" if text else "deleted", call.lang, items=items)


def _value(entry: KeptEntry) -> dict[str, object]:
    return {"number": entry.number, "text": entry.text}


memory = SlashCommand(name="memory", run=_memory, description=lambda lang: said("command", lang))


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the entries of a thread, and all entries of these users."""
    await services.get(Recall).erase("", thread=thread)
    for user in users:
        await services.get(Recall).erase(user)


async def export(services: Services, user: str, lang: str) -> Sequence[Section]:
    """Return the entries of a user, in groups as well."""
    rows = await services.get(Recall).entries(user)
    return [Section(key="memory", title=said("title", lang), rows=rows, lines=[str(row["text"]) for row in rows])]


User = Annotated[str, typer.Option(help="Whose memory.")]


@command_line.callback(invoke_without_command=True)
def memory_of(context: typer.Context, *, user: User = "me") -> Awaitable[CommandResult] | None:
    """What conversations have found out of a user: list it, or delete it."""
    context.meta["user"] = user
    return None if context.invoked_subcommand else list_memory(context)


@command_line.command("list")
async def list_memory(context: typer.Context) -> CommandResult:
    """List it, with numbers."""
    async with services_of(context, reads=True) as services:
        recall, lang = services.get(Recall), installation_of(context).lang
        entries = await recall.of(owner_of("", context.meta["user"], is_shared=False))
    return CommandResult([entry._asdict() for entry in entries], lines_of(entries, lang) or [said("none", lang)])


@command_line.command("delete")
async def delete_memory(
    context: typer.Context, *, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> CommandResult:
    """Delete all of it.

    Raises:
        UsageError: it was not agreed to.
    """
    user, lang = context.meta["user"], installation_of(context).lang
    if not yes and not typer.confirm(said("delete_all", lang, user=user)):
        raise UsageError(said("not_deleted", lang))
    async with services_of(context) as services:
        await services.get(Recall).clear(user)
    return CommandResult({"user": user, "forgotten": True}, [said("deleted_all", lang, user=user)])
