"""The questions of `setup` for the bot: its token, and the chat in which reminders ring."""

from importlib import import_module

from agents.errors import ConfigError
from agents.toolkit.commands import Interview
from app.plugins.telegram.settings import TelegramSettings
from app.settings import read


async def set_up_bot(interview: Interview) -> bool:
    """Only connect a Telegram bot."""
    settings = read(TelegramSettings)
    if settings.token and not interview.is_alone:
        return True
    # Its library takes half a second to import.
    while token := await interview.answer("ask_token", is_secret=True):
        try:
            link = await import_module("app.plugins.telegram.access").new_link(settings, token)
        except ConfigError as refused:
            interview.tell("refused", why=refused)
            continue
        path = interview.write({"TELEGRAM_BOT_TOKEN": token})
        interview.tell("link", path=path, link=link)
        return True
    return False


async def set_up_ringing(interview: Interview) -> bool:
    """Ask for the chat in which reminders ring, if there is a bot."""
    if not read(TelegramSettings).token:
        return True
    while chat := await interview.answer("ask_chat"):
        if chat.removeprefix("-").isdecimal():
            interview.write({"RING_TELEGRAM_CHAT": chat})
            break
        interview.tell("no_such", answer=repr(chat))
    return True
