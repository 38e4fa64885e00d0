"""Tasks beside the running one: started for a block, cancelled and waited for at its end."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager


async def cancel(tasks: Iterable["asyncio.Task[object]"]) -> None:
    """Cancel tasks and wait until they are over; what they raised is dropped."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def running(work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Let work run during the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await cancel([task])
