"""The bot and two first messages in one process: `python -m tests.support.first_messages FOLDER`.

Prints as JSON, for each message, which modules were imported and which files of ours were read to answer it.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

from app.doors.telegram.service import serve
from app.settings import Settings
from tests.support.places import ROOT
from tests.support.telegram_people import ANN
from tests.support.telegram_server import TOKEN, BotApi

TEXTS = ("hello", "привет")


async def talk(folder: Path) -> list[list[str]]:
    """Return what was loaded for each message."""
    world, loaded = BotApi(), list[str]()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "import" or (event == "open" and str(arguments[0]).startswith(str(ROOT))):
            loaded.append(f"{event} {arguments[0]}")

    database = f"sqlite:///{folder / 'dialogs.db'}"
    settings = Settings(_env_file=None, telegram_bot_token=TOKEN, telegram_allowed_users="*", database_url=database)
    steps: list[list[str]] = []
    async with world.serving():
        bot = asyncio.create_task(serve(settings.model_copy(update={"telegram_api_url": world.url})))
        await world.until(lambda: "getUpdates" in world.methods())
        sys.addaudithook(note)
        for number, text in enumerate(TEXTS, 1):
            loaded.clear()
            world.says(ANN, text)
            await world.until_sent(ANN, number)
            steps.append([*loaded])
        bot.cancel()
        with suppress(asyncio.CancelledError):
            await bot
    return steps


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(talk(Path(sys.argv[1])))))
