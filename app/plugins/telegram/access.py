"""The people who may talk to the bot: those of the setting, and those with a link (`telegram pair`)."""

import hashlib
import hmac
import secrets
import sys
import time
from typing import Literal

from pydantic import SecretStr

from agents.memory.locks import ThreadLocks
from agents.memory.store import Store
from app.plugins.telegram.bot import bot_of, connected, token_of
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import DOOR
from app.plugins.telegram.settings import TelegramSettings
from app.process.logs import hidden, log_on_stderr
from app.settings import Settings

PEOPLE = (DOOR, "people")
CODES = (DOOR, "codes")
"""The place of links that were used and would still be valid."""
LINK_LASTS = 3600
"""Seconds for which a link is valid."""
NONCE = 16
"""The number of characters that differ in each link of a bot."""

Allowed = frozenset[int] | Literal["*"]
Welcome = Literal["let_in", "let_in_admin"]


class Access:
    """The people whom the bot answers, and the links that admit others."""

    def __init__(self, store: Store, locks: ThreadLocks, allowed: Allowed, token: str) -> None:
        self._store, self._locks, self._allowed, self._token = store, locks, allowed, token
        self._people: dict[int, bool] = {}
        """The people whom a link has admitted, and whether they are administrators."""

    async def read(self) -> None:
        """Read the admitted people from the store."""
        items = await self._store.asearch(PEOPLE, limit=10_000)
        self._people = {int(item.key): bool(item.value["is_admin"]) for item in items}

    @property
    def is_closed(self) -> bool:
        """Whether nobody can talk to the bot yet."""
        return not self._allowed and not self._people

    @property
    def is_open(self) -> bool:
        """Whether the bot answers everybody."""
        return self._allowed == "*"

    def admits(self, user: int) -> bool:
        """Tell whether the bot answers a user."""
        return self._allowed == "*" or user in self._allowed or user in self._people

    @property
    def administrators(self) -> list[int]:
        """The people who may ask for the bot's statistics."""
        return [user for user, is_admin in self._people.items() if is_admin]

    async def enter(self, user: int, code: str) -> Welcome | None:
        """Admit a user who has opened a link, and use it up; None if it is not valid. The first is administrator."""
        if not _is_valid(code, self._token):
            return None
        async with self._locks.hold(f"{DOOR} access"):
            used = await self._store.asearch(CODES, limit=10_000)
            for item in used:
                if item.value["until"] < time.time():
                    await self._store.adelete(CODES, item.key)
            if await self._store.aget(CODES, code[:NONCE]):
                return None
            await self._store.aput(CODES, code[:NONCE], {"until": time.time() + LINK_LASTS})
            await self.read()
            is_admin = self._people.get(user, not any(self._people.values()))
            await self._store.aput(PEOPLE, str(user), {"is_admin": is_admin})
            self._people[user] = is_admin
            return "let_in_admin" if is_admin else "let_in"


def link(bot: str, token: str) -> str:
    """Return a new link to a bot that admits one person, within an hour, whatever database the bot uses."""
    code = f"{secrets.token_hex(NONCE // 2)}{round(time.time()) + LINK_LASTS:010}"
    return f"https://t.me/{bot}?start={code}{_seal(code, token)}"


def _is_valid(code: str, token: str) -> bool:
    """Tell whether a code was made with the bot's token, and is not too old."""
    sealed, seal = code[: NONCE + 10], code[NONCE + 10 :]
    if not code.isascii() or not hmac.compare_digest(seal.encode(), _seal(sealed, token).encode()):
        return False
    return int(sealed[NONCE:]) >= time.time()


def _seal(code: str, token: str) -> str:
    return hmac.new(token.encode(), f"link {code}".encode(), hashlib.sha256).hexdigest()[:32]


async def pair(settings: Settings, own: TelegramSettings) -> int:
    """Print a link that admits one person, within an hour; raises ConfigError as `token_of` and `new_link` do."""
    token = token_of(own)
    with hidden(token), log_on_stderr(detailed=True, content=settings.log_content):
        link = await new_link(own, token)
    sys.stderr.write(say("pair_here", settings.app_lang) + "\n")
    sys.stdout.write(f"{link}\n")
    return 0


async def new_link(settings: TelegramSettings, token: str) -> str:
    """Return a new link to the bot of a token. Raises ConfigError as `connected` does."""
    bot = bot_of(settings.model_copy(update={"telegram_bot_token": SecretStr(token)}))
    async with connected(bot, patience=0):
        return link(bot.username, token)
