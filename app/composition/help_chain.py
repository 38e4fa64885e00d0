"""The chain of `assistant_help`, from the settings: the links that answer in the assistant's place."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from agents.discovery import code_of
from agents.errors import ConfigError
from agents.memory.notes import NoteStore
from agents.plugin import Plugin
from agents.toolkit.help import Exhausted, HelpChain, HelpLink, HelpRequest, PageLink
from agents.toolkit.services import Services
from app.extensions import module_of
from app.settings import Settings

OWN = (PageLink.name, "person")
"""The names of the application's links."""


@dataclass(frozen=True)
class PersonLink:
    """Leaves a note for a person; doors deliver it."""

    name = "person"
    reaches_out = is_foreign = True
    notes: NoteStore
    most: int
    """The most notes of a user within a day."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the noted text. Raises Exhausted if the user has left too many notes today."""
        user = question.user or question.thread
        if not await self.notes.add(question.thread, question.text, question.key, user, self.most):
            raise Exhausted
        return question.text


def make_help(settings: Settings, notes: NoteStore, services: Services, plug_ins: Mapping[str, Plugin]) -> HelpChain:
    """Return the chain. Raises ConfigError: a link is not known."""
    brought = brought_links(plug_ins)
    check_help(settings, brought)
    own: Mapping[str, HelpLink] = {
        PageLink.name: PageLink(),
        PersonLink.name: PersonLink(notes, settings.notes_per_day),
    }
    there = [name for name in settings.help_chain if name in own or name in brought]
    makers = {link: module_of(name) for name, plugin in plug_ins.items() for link in plugin.help}

    def made(link: str) -> HelpLink:
        with code_of(makers[link]):
            return brought[link](services)

    return HelpChain([own.get(name) or made(name) for name in there], settings.help_timeout)


def brought_links(plug_ins: Mapping[str, Plugin]) -> dict[str, Callable[[Services], HelpLink]]:
    """Return the makers of the links that plug-ins and dialogs bring, by name."""
    return {name: make for plugin in plug_ins.values() for name, make in plugin.help.items()}


def check_help(settings: Settings, brought: Collection[str]) -> None:
    """Check that the links are the application's, or those that plug-ins have `brought`. Raises ConfigError."""
    links = [*brought, *OWN]
    # The part that brings a link of the default may be left out.
    named = settings.help_chain if "help_chain" in settings.model_fields_set else ()
    if strange := next((name for name in named if name not in links), None):
        raise ConfigError(f"HELP_CHAIN: there is no link {strange!r}; there are: {', '.join(links)} (see .env.example)")
