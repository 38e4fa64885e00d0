"""How much Telegram takes: what is sent by the bot in all and to each chat, and the pauses that it asks for."""

import asyncio
from dataclasses import dataclass

REMEMBERED = 1000
"""Chats whose allowance is kept; that of one which has written little lately is full anyway."""

SHORTEST = 0.01
"""Seconds that are waited at least."""


@dataclass
class Allowance:
    """Requests that may be made now, and how many more a second."""

    most: float
    rate: float
    left: float
    at: float

    @classmethod
    def full(cls, most: float, rate: float, now: float) -> "Allowance":
        """Return an allowance of which nothing is used."""
        return cls(most, rate, most, now)

    def now(self, now: float) -> float:
        """Return how many requests may be made at this time."""
        self.left, self.at = min(self.most, self.left + (now - self.at) * self.rate), now
        return self.left


BOT = 10.0, 20.0
"""Requests of the bot at once, and then per second: never more than the 30 a second that Telegram takes."""
PRIVATE = 4.0, 1.0
GROUP = 5.0, 1 / 4
"""Never more than the 20 a minute that Telegram takes in a group."""
BOT_RESERVE, CHAT_RESERVE = 5.0, 1.0
"""What frames leave over for messages."""


class FloodControl:
    """Say when a request may be made. Messages wait for their time; frames are made at once or not at all."""

    def __init__(self) -> None:
        self._bot: Allowance | None = None
        self._chats: dict[int, Allowance] = {}
        self._paused: dict[int, float] = {}
        """Until when Telegram wants nothing for a chat."""
        self._bot_paused = 0.0
        self._refused: int | None = None
        """The chat in which a request was refused, with none accepted anywhere since."""

    async def wait(self, chat: int) -> None:
        """Wait until a message may be sent to a chat, and count it."""
        while (seconds := self._wait(chat)) > 0:  # noqa: ASYNC110  # a pause may grow
            await asyncio.sleep(max(seconds, SHORTEST))
        self._count(chat)

    def admits_frame(self, chat: int) -> bool:
        """Tell whether a frame may be sent to a chat now; if so, count it."""
        now = _now()
        is_free = (
            self._wait(chat) <= 0
            and self._of_bot(now).now(now) >= BOT_RESERVE + 1
            and self._of_chat(chat, now).now(now) >= CHAT_RESERVE + 1
        )
        if is_free:
            self._count(chat)
        return is_free

    def is_paused(self, chat: int) -> bool:
        """Tell whether Telegram wants nothing for a chat now."""
        return max(self._paused.get(chat, 0.0), self._bot_paused) > _now()

    def refused(self, chat: int, seconds: float) -> None:
        """Note that Telegram asks for a pause: of the chat, or of the whole bot.

        Telegram does not say which. When another chat is refused and nothing was accepted in between, it is the bot.
        """
        until = _now() + seconds
        if self._refused not in (None, chat):
            self._bot_paused = max(self._bot_paused, until)
        self._refused = chat
        self._paused[chat] = max(self._paused.get(chat, 0.0), until)

    def accepted(self, chat: int) -> None:
        """Note that Telegram took a request for a chat."""
        self._refused = None
        self._paused.pop(chat, None)

    def _wait(self, chat: int) -> float:
        """Return for how many seconds nothing may be sent to a chat."""
        now = _now()
        pause = max(self._paused.get(chat, 0.0), self._bot_paused) - now
        bot = self._of_bot(now)
        return max(pause, (1 - bot.now(now)) / bot.rate)

    def _count(self, chat: int) -> None:
        now = _now()
        self._of_bot(now).left -= 1
        allowance = self._of_chat(chat, now)
        # Messages do not wait for their chat's allowance: Telegram takes some at once.
        allowance.left = max(allowance.left - 1, -allowance.most)

    def _of_bot(self, now: float) -> Allowance:
        self._bot = self._bot or Allowance.full(*BOT, now)
        return self._bot

    def _of_chat(self, chat: int, now: float) -> Allowance:
        if len(self._chats) > REMEMBERED:
            self._chats = {id: one for id, one in self._chats.items() if one.now(now) < one.most}
        return self._chats.setdefault(chat, Allowance.full(*(GROUP if chat < 0 else PRIVATE), now))


def _now() -> float:
    return asyncio.get_running_loop().time()
