"""The slash commands, one registry for every door: name, descriptions by language, and function."""

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from agents.errors import DialogSupervisorError
from agents.foreign import contained
from agents.language.text.clean import whole
from agents.toolkit.commands import CommandCall, SlashCommand
from app.composition import plugins_found
from app.doors.slash_commands import own_data, talk
from app.doors.visit import Visit
from app.presentation.lines import columns
from app.presentation.texts import say
from dialogs import Dialog
from prompts import phrase

LOG = logging.getLogger(__name__)
Handler = Callable[[Visit, str, str], Awaitable[str]]
"""Takes the visit, the argument behind the name, and the language of the answer; returns the answer."""
Choices = Callable[[Visit], Awaitable[Mapping[str, str]]]
"""Returns the possible arguments of a command, each with a description."""
Scope = Literal["private", "group", "group_admin", "operator"]
"""The menus of commands: of private chats, of groups, of a group's administrators, of the bot's."""
PRIVATE: tuple[Scope, ...] = ("private",)
REPL, MESSENGER, PAGE = "repl", "messenger", "page"
"""The kinds of doors: the terminal, a chat in a messenger, the page."""
SMALL = (REPL, MESSENGER)
"""The doors with small screens: they hand out data that the page shows anyway."""


@dataclass(frozen=True)
class Command:
    """One slash command."""

    name: str
    run: Handler
    doors: tuple[str, ...] = (REPL, MESSENGER, PAGE)
    scopes: tuple[Scope, ...] = ("private", "group")
    """The menus with the command, at a door that has several."""
    begins_turn: bool = False
    """Whether the command may begin a turn. Such a turn comes before the user's next message."""
    is_at_once: bool = False
    """Whether the command is answered while a turn runs. Such a command neither changes the turn nor waits for it."""
    choices: Choices | None = None
    about: Callable[[str], str] | None = None
    """Returns one line about the command in a language. If it is None, `cli.toml` has the line."""

    def description(self, lang: str) -> str:
        """Return one line about the command."""
        return self.about(lang) if self.about else say(f"command.{self.name}", lang)


def of_dialog(command: SlashCommand) -> Command:
    """Return a dialog's command in the registry's form."""

    async def run(visit: Visit, argument: str, lang: str) -> str:
        is_shared = visit.is_shared or await visit.assistant.forgetting.is_shared(visit.thread, visit.owner)
        call = CommandCall(
            argument=argument,
            user=visit.owner,
            thread=visit.thread,
            lang=lang,
            is_shared=is_shared,
            services=visit.assistant.services,
        )
        try:
            with contained():
                answer = str(whole(await command.run(call)))
        except DialogSupervisorError:
            raise
        except Exception:
            LOG.exception("thread %s: the command /%s failed", visit.thread, command.name)
            answer = phrase("sorry_internal", lang)
        return answer if command.in_groups else await visit.door.whisper(answer, lang)

    def about(lang: str) -> str:
        try:
            with contained():
                return str(whole(command.description(lang)))
        except Exception:
            LOG.exception("the description of the command /%s failed", command.name)
            return ""

    scopes = Command.scopes if command.in_groups else PRIVATE
    return Command(command.name, run, scopes=scopes, is_at_once=True, about=about)


CALL = re.compile(r"/([A-Za-z_]+)(?:\s+(.*))?", re.DOTALL)
WIDER: Mapping[Scope, Scope] = {"group_admin": "group", "operator": "private"}
"""The scope whose commands a menu shows as well, by the menu's own scope."""


def parse(text: str) -> tuple[str, str] | None:
    """Return the command's name and argument; None if the text is not a command."""
    call = CALL.fullmatch(text.strip())
    return (call[1].lower(), (call[2] or "").strip()) if call else None


def offered(door: str, scope: Scope | None = None) -> list[Command]:
    """Return the commands of a door, or of one of its menus, in the order of the menu."""
    scopes = {scope, WIDER.get(scope)} if scope else set[Scope]()
    there = [command for command in commands().values() if door in command.doors]
    return [command for command in there if not scopes or scopes & set(command.scopes)]


async def choices(name: str, visit: Visit) -> Mapping[str, str]:
    """Return the possible arguments of a command, each with a description; empty if any text is possible."""
    command = commands().get(name)
    if command is None or command.choices is None or visit.door.name not in command.doors:
        return {}
    return await command.choices(visit)


async def run(name: str, argument: str, visit: Visit, lang: str) -> str:
    """Run a command by name and return its answer as plain text; empty when there is none."""
    command = commands().get(name)
    if command is None or visit.door.name not in command.doors:
        return say("reply.unknown_command", lang, name=name)
    return await command.run(visit, argument, lang)


async def _help(visit: Visit, argument: str, lang: str) -> str:
    scope: Scope = "group" if visit.is_shared else "private"
    menu = offered(visit.door.name, scope if visit.door.has_pages else None)
    if visit.door.has_pages:
        return "\n".join(f"/{command.name} – {command.description(lang)}" for command in menu)
    lines = columns((f"/{command.name}", command.description(lang)) for command in menu)
    return "\n".join([*lines, "", say("keys_title", lang), *say("keys_list", lang).split("\n")])


def _for_operators(name: str) -> Command:
    """Return a command that the bot itself answers, for its administrators; other users do not see it."""

    async def deny(visit: Visit, argument: str, lang: str) -> str:
        return say("reply.unknown_command", lang, name=name)

    return Command(name, deny, doors=(MESSENGER,), scopes=("operator",), is_at_once=True)


async def _trace(visit: Visit, argument: str, lang: str) -> str:
    visit.door.is_traced = not visit.door.is_traced
    return say("reply.trace_on" if visit.door.is_traced else "reply.trace_off", lang)


async def _quit(visit: Visit, argument: str, lang: str) -> str:
    visit.is_open = False
    return ""


FIRST = (
    Command("start", talk.start, begins_turn=True, doors=(MESSENGER,), scopes=PRIVATE),
    Command("help", _help, is_at_once=True),
    Command("new", talk.new, begins_turn=True, scopes=(*PRIVATE, "group_admin"), choices=talk.any_thread),
    Command("stop", talk.stop, doors=(MESSENGER,), is_at_once=True),
    Command("retry", talk.retry, begins_turn=True),
    Command("undo", talk.undo, begins_turn=True),
    Command("go", talk.go, begins_turn=True, choices=talk.any_dialog),
)

LAST = (
    Command("dialogs", talk.dialogs, is_at_once=True),
    Command("state", own_data.state, is_at_once=True),
    Command("history", own_data.history, doors=SMALL, is_at_once=True),
    Command("threads", talk.threads, is_at_once=True),
    Command("export", own_data.export, doors=SMALL, is_at_once=True),
    Command("lang", own_data.lang, choices=own_data.any_language),
    Command("busy", own_data.busy, doors=(MESSENGER,), is_at_once=True),
    Command("privacy", own_data.privacy, is_at_once=True),
    Command("forget", own_data.forget, choices=own_data.anything_kept),
    _for_operators("stats"),
    _for_operators("prompt"),
    Command("attach", talk.attach, doors=(REPL,)),
    Command("trace", _trace, doors=(REPL,)),
    Command("quit", _quit, doors=(REPL,)),
)


@cache
def commands() -> Mapping[str, Command]:
    """Return every command by its name, in the order of the menus: our own, and those of the dialogs."""
    # The commands of dialogs come first.
    plugins = sorted(plugins_found().values(), key=lambda plugin: not isinstance(plugin, Dialog))
    brought = [of_dialog(command) for plugin in plugins for command in plugin.commands]
    return {command.name: command for command in (*FIRST, *brought, *LAST)}


def twice() -> list[str]:
    """Return a line for each command of a plug-in or a dialog whose name another command has, too."""
    brought = [(name, command.name) for name, plugin in plugins_found().items() for command in plugin.commands]
    counts = Counter([command.name for command in (*FIRST, *LAST)] + [command for _, command in brought])
    return [f"{name} has a command /{it}, which there is twice: rename it" for name, it in brought if counts[it] > 1]
