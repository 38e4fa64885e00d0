"""Chats with Telegram's door on a webhook, whose turns are played by workers; these are killed meanwhile.

`python -m tests.plugins.telegram.webhook_chaos --threads 20 --turns 10 --kills 40` runs it by hand and prints what came
of it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agents.memory import Memory
from agents.memory.store import namespace_of
from app.assistant import Assistant
from app.plugins.postgres.playing import open_handing
from app.plugins.telegram import flood_control, service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.place import door_of
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates import incoming
from tests.plugins.postgres.chaos import Plan, main
from tests.plugins.postgres.worker_chaos import DoorOutcome, WorkerChaos, settings_of
from tests.support.loopback import free_port
from tests.support.postgres_server import PostgresServer, running
from tests.support.telegram_server import BOT, TOKEN, BotApi

SECRET, HOOK = "a-secret-of-ours-0", "/hooks/sue"
AGAIN = 0.2
"""The share of updates that come a second time, as from Telegram without our answer."""
AT_ONCE = 3
"""Messages of a chat that wait for their answers at the same time."""


class WebhookChaos(WorkerChaos):
    """People in private chats, a bot, workers, and what befalls them."""

    threads = "telegram-"

    def __init__(self, plan: Plan, server: PostgresServer) -> None:
        super().__init__(plan, server)
        self._world = BotApi()
        self._posting = asyncio.Lock()
        self._port = free_port()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Assistant]:
        """Open the bot's door; people's messages wait for the answers before them, and Telegram takes all answers."""
        settings = settings_of(self._url).model_copy(update={"turns_per_hour": 0})
        own = TelegramSettings.model_validate(
            {
                "telegram_allowed_users": "*",
                "telegram_webhook_url": f"https://bot.example{HOOK}",
                "telegram_webhook_listen": f"127.0.0.1:{self._port}",
                "telegram_webhook_secret": SECRET,
            }
        )
        with pytest.MonkeyPatch.context() as patch:
            for paced in ("BOT", "PRIVATE", "GROUP"):
                patch.setattr(flood_control, paced, (1000.0, 1000.0))
            patch.setattr(incoming, "WINDOW", 0)
            async with self._world.serving(), open_handing(settings) as assistant:
                for user in self._names:
                    await assistant.memory.store.aput(namespace_of(user, "settings"), "busy", {"mode": "queue"})
                bot = ServiceBot(TOKEN, self._world.url)
                async with (
                    service.open_door(assistant, bot, settings, own),
                    httpx.AsyncClient(trust_env=False, timeout=300) as self._http,
                ):
                    await self._world.until(lambda: self._world.chats.webhook)
                    yield assistant

    async def _talk(self, thread: str) -> None:
        chat = self._chat(thread)
        for number in range(1, self.plan.turns + 1):
            self._world.says(chat, f"remind me tomorrow at 9 to call number {number}")
            await self._post(self._world.waiting[-1])
            await self._shown(chat, number + 1 - AT_ONCE)
        await self._shown(chat, self.plan.turns)

        async def is_stored() -> bool:
            memory = self._door.memory
            return not (await memory.transcript.open_entries(thread) or await memory.updates.open(door_of(BOT["id"])))

        # An answer is shown before it is stored, and its update is done after that.
        await self._world.until(is_stored)

    async def _post(self, update: dict[str, Any]) -> None:
        """Bring an update as Telegram does: one after the other, until it is taken, and now and then twice."""
        times = 2 if self._random.random() < AGAIN else 1
        async with self._posting:
            while times:
                headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
                address = f"http://127.0.0.1:{self._port}{HOOK}"
                if (await self._http.post(address, json=update, headers=headers, timeout=60)).status_code == 200:
                    times -= 1
                else:
                    self.outcome.again += 1
                    await asyncio.sleep(0.1)

    async def _shown(self, chat: int, number: int) -> None:
        await self._world.until(lambda: len(self._world.texts(chat)) >= number)
        async with self._progress:
            self._answered = len(self._world.sent)
            self._progress.notify_all()

    def _chat(self, thread: str) -> int:
        return int(thread.removeprefix(self.threads))

    async def _judge(self, thread: str, memory: Memory) -> None:
        numbers = range(1, self.plan.turns + 1)
        expected = [f"Set: {number}. call number {number}: tomorrow at 9 am." for number in numbers]
        shown, lines = self._world.texts(self._chat(thread)), await memory.transcript.lines(thread)
        if missing := set(expected) - set(shown):
            self._told.wrongly_told.append(f"{thread} {missing}")
        if any(count > 1 for count in Counter(shown).values()):
            self.outcome.doubled.append(thread)
        if shown != expected or [line.text for line in lines if line.role != "user"] != expected:
            self.outcome.out_of_order.append(thread)
        sql = "SELECT number, text FROM reminders WHERE user = ? ORDER BY number"
        if await memory.database.execute(sql, (thread,)) != [(number, f"call number {number}") for number in numbers]:
            self.outcome.wrong_effects.append(thread)
        if await memory.transcript.open_entries(thread) or await memory.updates.open(door_of(BOT["id"])):
            self.outcome.wedged.append(thread)


def befall(plan: Plan) -> DoorOutcome:
    """Start a server and have a plan befall it. Raises FileNotFoundError if PostgreSQL is not installed."""

    async def run(server: PostgresServer) -> DoorOutcome:
        chaos = WebhookChaos(plan, server)
        await chaos.run()
        return chaos._told

    with running(fsync="on") as server:
        return asyncio.run(run(server))


if __name__ == "__main__":
    main(befall, __doc__, Plan(server_kills=0, freezes=0))
