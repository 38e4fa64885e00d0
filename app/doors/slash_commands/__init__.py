"""The slash commands, one registry for every door: a name, a description per language, what is done."""

import re
from collections.abc import Mapping
from functools import cache

import dialogs
import observers
from app.doors.slash_commands import attached, own_data, preferences, talk
from app.doors.slash_commands.command import PRIVATE, Command, Scope, no_picks, of_dialog
from app.doors.visit import Visit
from app.listing import columns
from app.texts import say
from prompts import languages

CALL = re.compile(r"/([A-Za-z_]+)(?:\s+(.*))?", re.DOTALL)
WIDER: Mapping[Scope, Scope] = {"group_admin": "group", "operator": "private"}
"""By the scope of a menu, the one whose commands stand in it, too."""


def parse(text: str) -> tuple[str, str] | None:
    """Return the command's name and argument; None for a text that is no command."""
    call = CALL.fullmatch(text.strip())
    return (call[1].lower(), (call[2] or "").strip()) if call else None


def offered(door: str, scope: Scope | None = None) -> list[Command]:
    """Return the commands of a door, or of one of its menus, in the order of the menu."""
    scopes = {scope, WIDER.get(scope)} if scope else set[Scope]()
    there = [command for command in commands().values() if door in command.doors]
    return [command for command in there if not scopes or scopes & set(command.scopes)]


async def choices(name: str, visit: Visit) -> Mapping[str, str]:
    """Return what may stand behind a command's name, each with a word about it; empty if it could be anything."""
    command = commands().get(name)
    return await command.choices(visit) if command and visit.door.name in command.doors else {}


async def run(name: str, argument: str, visit: Visit, lang: str) -> str:
    """Run a command by name and return its answer as plain text; empty when there is nothing to say."""
    command = commands().get(name)
    if command is None or visit.door.name not in command.doors:
        return say("reply.unknown_command", lang, name=name)
    return await command.run(visit, argument, lang)


async def picks(name: str, argument: str, visit: Visit, lang: str) -> Mapping[str, str]:
    """Return the commands that may follow the answer of a command, each with the label of its button."""
    command = commands().get(name)
    return await (command.picks if command else no_picks)(visit, argument, lang)


async def _help(visit: Visit, argument: str, lang: str) -> str:
    scope: Scope = "group" if visit.is_shared else "private"
    menu = offered(visit.door.name, scope if visit.door.has_pages else None)
    if visit.door.has_pages:
        return "\n".join(f"/{command.name} – {command.description(lang)}" for command in menu)
    lines = columns((f"/{command.name}", command.description(lang)) for command in menu)
    return "\n".join([*lines, "", say("keys_title", lang), *say("keys_list", lang).split("\n")])


async def _stats(visit: Visit, argument: str, lang: str) -> str:
    # The bot answers its administrators itself; nobody else is told that there is such a command.
    return say("reply.unknown_command", lang, name="stats")


async def _trace(visit: Visit, argument: str, lang: str) -> str:
    visit.door.is_traced = not visit.door.is_traced
    return say("reply.trace_on" if visit.door.is_traced else "reply.trace_off", lang)


async def _quit(visit: Visit, argument: str, lang: str) -> str:
    visit.is_open = False
    return ""


FIRST = (
    Command("start", talk.start, begins_turn=True, doors=("telegram",), scopes=PRIVATE),
    Command("help", _help, is_at_once=True),
    Command(
        "new",
        talk.new,
        begins_turn=True,
        scopes=("private", "group_admin"),
        concerns_all=lambda argument: True,
        choices=talk.any_thread,
    ),
    Command("stop", talk.stop, doors=("telegram",), is_at_once=True),
    Command("retry", talk.retry, begins_turn=True),
    Command("undo", talk.undo, begins_turn=True),
    Command("go", talk.go, begins_turn=True, choices=talk.any_dialog),
)

LAST = (
    Command("dialogs", talk.dialogs, is_at_once=True),
    Command("state", own_data.state, is_at_once=True),
    Command("history", own_data.history, is_at_once=True, picks=own_data.history_picks),
    Command("threads", talk.threads, is_at_once=True, picks=talk.thread_picks),
    Command("export", own_data.export, is_at_once=True),
    Command("lang", preferences.lang, picks=preferences.lang_picks, choices=preferences.any_language),
    Command("busy", preferences.busy, doors=("telegram",), is_at_once=True, picks=preferences.busy_picks),
    Command("privacy", own_data.privacy, is_at_once=True),
    Command(
        "forget",
        own_data.forget,
        concerns_all=own_data.concerns_all,
        yes=own_data.YES,
        choices=own_data.anything_kept,
    ),
    Command("stats", _stats, doors=("telegram",), scopes=("operator",), is_at_once=True),
    Command("attach", attached.attach, doors=("repl",)),
    Command("trace", _trace, doors=("repl",)),
    Command("quit", _quit, doors=("repl",)),
)


@cache
def commands() -> Mapping[str, Command]:
    """Return every command by its name, in the order of the menus: our own, and those of the dialogs."""
    specialists = dialogs.discover(languages(), observers.discover(languages()))
    brought = [of_dialog(command) for dialog in specialists.values() for command in dialog.commands]
    return {command.name: command for command in (*FIRST, *brought, *LAST)}
