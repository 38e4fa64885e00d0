"""The HTTP door in a process that a test can kill and start again in a moment.

`python -m tests.support.killable_server` takes the lines of `killable_door`; it serves at their address.
"""

import asyncio
import signal
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from app.assistant import Turn
from app.doors.http.server import make_server
from app.doors.http.service import make_app
from app.process.tasks import cancelled_by
from tests.support.killable_door import KillableDoor, main, talker
from tests.support.scripted_assistant import stage


class KillableServer(KillableDoor):
    """A server's process that a test can start and kill."""

    module = "tests.support.killable_server"


async def _serve(url: str, database: str) -> None:
    """Serve until SIGTERM, with a model that repeats the user's words."""
    async with stage(Path(database), talker()) as assistant:
        app = make_app(assistant, ())
        port = urlsplit(url).port or 0
        server = make_server(app, "127.0.0.1", port, patience=2)
        async with app.state.streams:
            serving = asyncio.create_task(server.serve())
            with cancelled_by(signal.SIGTERM):
                try:
                    await asyncio.shield(serving)
                except asyncio.CancelledError:
                    server.should_exit = True
                    await serving
        await app.state.answers.close()


async def _warm() -> None:
    """Load the common modules once, before the forks."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder) / "warm.db", talker()) as assistant:
            make_app(assistant, ()).openapi()
            async for _ in assistant.play(Turn(thread="warm", text="hello")):
                pass


if __name__ == "__main__":
    main(_warm, _serve)
