"""What a slash command is: its name, where it is offered, what it does, and what may be offered behind it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from agents.toolkit.commands import CommandCall, SlashCommand
from app.doors.visit import Visit
from app.texts import say

Handler = Callable[[Visit, str, str], Awaitable[str]]
"""Takes the visit, what was typed behind the name, and the language to answer in; returns the answer."""
Choices = Callable[[Visit], Awaitable[Mapping[str, str]]]
"""Returns what may stand behind a command's name, each with a word about it."""
Picks = Callable[[Visit, str, str], Awaitable[Mapping[str, str]]]
"""Takes the same as a handler; returns the commands that may follow the answer, each with the label of its button."""
Scope = Literal["private", "group", "group_admin", "operator"]
"""Whose menu shows a command: in private chats, in groups, of a group's administrators, of the bot's."""


PRIVATE: tuple[Scope, ...] = ("private",)


async def anything(visit: Visit) -> Mapping[str, str]:
    """Offer no choices: anything may stand behind the command."""
    return {}


async def no_picks(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer nothing behind the answer."""
    return {}


def concerns_one(argument: str) -> bool:
    """Tell that a command concerns nobody but who sends it."""
    return False


@dataclass(frozen=True)
class Command:
    """One slash command."""

    name: str
    run: Handler
    doors: tuple[str, ...] = ("repl", "telegram")
    """Where it is offered."""
    scopes: tuple[Scope, ...] = ("private", "group")
    """In which menus it stands, where a door has several."""
    begins_turn: bool = False
    """Whether it may begin a turn, which has its place before what is written next."""
    is_at_once: bool = False
    """Whether it is answered while a turn runs, which it neither changes nor waits for."""
    concerns_all: Callable[[str], bool] = concerns_one
    """Tells of an argument whether it concerns all who are in a group, and takes one of the group's administrators."""
    yes: str = ""
    """The argument without which it only asks whether it should; a door may offer a button for it."""
    picks: Picks = no_picks
    """What a door may offer as buttons below the answer."""
    choices: Choices = anything
    """What may stand behind its name; a door may complete it."""

    about: Callable[[str], str] | None = None
    """Returns one line, in a language, on what the command does; None: `cli.toml` says it."""

    def description(self, lang: str) -> str:
        """Return one line on what the command does."""
        return self.about(lang) if self.about else say(f"command.{self.name}", lang)


def of_dialog(command: SlashCommand) -> Command:
    """Return a dialog's command as a door offers it."""

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
        return await command.run(call)

    scopes = Command.scopes if command.in_groups else PRIVATE
    return Command(command.name, run, scopes=scopes, is_at_once=True, about=command.description)
