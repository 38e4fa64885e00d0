"""A process that plays turns for whoever it is connected to, until it is killed."""

import asyncio
import json
import os
from asyncio import StreamReader, StreamWriter

from agents.errors import DatabaseError
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.plugins.postgres import locks
from app.settings import Settings


def work(url: str, socket: str, frozen: float) -> None:
    """Play what comes through a socket file; `frozen` is after how many seconds others count as frozen."""
    locks.FROZEN = frozen
    asyncio.run(_work(Settings(_env_file=None, llm_model="local:rules", app_lang="en", database_url=url), socket))


async def _work(settings: Settings, socket: str) -> None:
    async with open_assistant(settings) as assistant:
        reader, writer = await asyncio.open_unix_connection(socket)
        _send(writer, {"pid": os.getpid()})
        playing = set[asyncio.Task[None]]()
        while line := await _next(reader):
            task = asyncio.create_task(_play(assistant, json.loads(line), writer))
            playing.add(task)
            task.add_done_callback(playing.discard)


async def _next(reader: StreamReader) -> bytes:
    return await reader.readline()


async def _play(assistant: Assistant, request: dict[str, str], writer: StreamWriter) -> None:
    turn = Turn(thread=request["thread"], user=request["thread"], text=request["text"], id=request["id"], lang="en")
    try:
        events = [event async for event in assistant.play(turn)]
        is_answered = not any(event.type == "error" for event in events)
    except DatabaseError:
        is_answered = False
    _send(writer, {"thread": request["thread"], "id": request["id"], "answered": is_answered})


def _send(writer: StreamWriter, message: dict[str, object]) -> None:
    writer.write(f"{json.dumps(message)}\n".encode())
