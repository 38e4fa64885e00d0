"""Further tries where a model's server is busy: one policy for all clients, since their own ones differ."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from langchain_core.exceptions import ModelTimeoutError
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable

from agents.models.failures import is_passing, retry_after

RETRIED_FOR = 25.0
"""Seconds for further tries. The user waits for the first words meanwhile."""
PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the second try, and the most before any; they double with each further try."""


async def attempts(
    model: Runnable[LanguageModelInput, AIMessage],
    retries: int,
    timeout: float | None,
    teaches: Callable[[Exception, list[AnyMessage]], bool],
    prompt: list[AnyMessage],
) -> AsyncIterator[AIMessage]:
    """Stream the reply of a model; ask it again up to `retries` times until a reply begins.

    A try that is silent for `timeout` seconds has failed, too. A server's own waiting time counts. A failure that
    `teaches` something is not tried again: the same request would fail again.
    Raises the error of the model's client in the last try.
    """
    now = asyncio.get_running_loop().time
    begun, retry = now(), 0
    while True:
        pieces = model.astream(prompt)
        try:
            try:
                async with asyncio.timeout(timeout) as silence:
                    piece = await anext(pieces, None)
            except TimeoutError as failure:
                if silence.expired():
                    raise ModelTimeoutError("it says nothing") from failure
                raise
            while piece is not None:
                yield piece
                retry = retries
                piece = await anext(pieces, None)
            return
        except Exception as failure:
            pause = retry_after(failure)
            if pause is None:
                pause = min(PAUSE * 2**retry, LONGEST_PAUSE) * random.uniform(0.75, 1)
            # The caller bounds the silence of all tries together.
            is_late = now() + pause - begun > RETRIED_FOR and not silence.expired()
            if retry >= retries or is_late or not is_passing(failure) or teaches(failure, prompt):
                raise
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
        retry += 1
        await asyncio.sleep(pause)
