"""Slash commands that a dialog brings: every door offers them beside its own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agents.toolkit.services import Services


@dataclass(frozen=True, kw_only=True)
class CommandCall:
    """One use of a slash command."""

    argument: str
    """What the user typed behind the name."""
    user: str
    thread: str
    lang: str
    """The language to answer in."""
    is_shared: bool
    """Whether others read the answer."""
    services: Services


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command."""

    name: str
    """What the user types behind the slash: letters and underscores."""
    run: Callable[[CommandCall], Awaitable[str]]
    """Returns the answer as plain text; empty if there is nothing to say."""
    description: Callable[[str], str]
    """Returns one line, in a language, on what the command does."""
    in_groups: bool = True
    """Whether the menus of groups show it, too."""
