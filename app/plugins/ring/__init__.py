"""`python -m app ring`: notifications of the desktop, such as reminders, while no conversation is open."""

from importlib import import_module
from typing import Annotated

import typer

from agents.command_line import name_given
from agents.plugin import Plugin
from app.cli.invocation import Lang
from app.plugins.ring.setup import set_up_service
from app.settings import read_settings

commands = typer.Typer()
UserOption = Annotated[
    str | None, typer.Option(callback=name_given, help="Only this user's (default: those of everybody).")
]


@commands.command()
async def ring(*, user: UserOption = None, lang: Lang = None) -> int:
    """Ring what users are to be told, such as reminders, while no conversation is open, until stopped."""
    settings, service = read_settings(), import_module("app.plugins.ring.service")
    return int(await service.ring_for(settings, lang or settings.app_lang, user))


plugin = Plugin(command_line=commands, setup={"ring": set_up_service})
