"""Who may talk to the bot: those of the setting, and those whom a link (`telegram pair`) let in."""

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
"""Where the links stand that were used and would still be valid."""
LINK_LASTS = 3600
"""Seconds for which a link lets somebody in."""
NONCE = 16
"""Characters that tell the links of a bot apart."""

Allowed = frozenset[int] | Literal["*"]
Welcome = Literal["let_in", "let_in_admin"]


class Access:
    """The people whom the bot answers, and the links that let in others."""

    def __init__(self, store: Store, locks: ThreadLocks, allowed: Allowed, token: str) -> None:
        self._store, self._locks, self._allowed, self._token = store, locks, allowed, token
        self._people: dict[int, bool] = {}
        """Those who were let in by a link, and whether they are administrators."""

    async def read(self) -> None:
        """Recall who was let in."""
        items = await self._store.asearch(PEOPLE, limit=10_000)
        self._people = {int(item.key): bool(item.value["is_admin"]) for item in items}

    @property
    def is_closed(self) -> bool:
        """Whether nobody can talk to the bot yet."""
        return not self._allowed and not self._people

    @property
    def is_open(self) -> bool:
        """Whether everybody is answered."""
        return self._allowed == "*"

    def admits(self, user: int) -> bool:
        """Tell whether the bot answers a user."""
        return self._allowed == "*" or user in self._allowed or user in self._people

    @property
    def administrators(self) -> list[int]:
        """The people who are told how the bot is doing."""
        return [user for user, is_admin in self._people.items() if is_admin]

    async def enter(self, user: int, code: str) -> Welcome | None:
        """Let in whoever opened a link, and use the link up; None if it is not valid. The first is administrator."""
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
    """Return a new link to a bot that lets one person in, within an hour, whatever database the bot uses."""
    code = f"{secrets.token_hex(NONCE // 2)}{round(time.time()) + LINK_LASTS:010}"
    return f"https://t.me/{bot}?start={code}{_seal(code, token)}"


def _is_valid(code: str, token: str) -> bool:
    """Tell whether somebody with the bot's token made a code, and it is not too old."""
    sealed, seal = code[: NONCE + 10], code[NONCE + 10 :]
    if not code.isascii() or not hmac.compare_digest(seal.encode(), _seal(sealed, token).encode()):
        return False
    return int(sealed[NONCE:]) >= time.time()


def _seal(code: str, token: str) -> str:
    return hmac.new(token.encode(), f"link {code}".encode(), hashlib.sha256).hexdigest()[:32]


async def pair(settings: Settings, own: TelegramSettings) -> int:
    """Print a link that lets one person in, within an hour; raises ConfigError as `token_of` and `new_link` do."""
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
