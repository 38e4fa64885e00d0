"""Code of teams and packages: any failure of it ends the part that called it, and not the process."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Escaped(RuntimeError):
    """Foreign code has raised something that passes all handlers of exceptions, such as `SystemExit`."""


@contextmanager
def contained() -> Iterator[None]:
    """Raise `Escaped` in place of all that passes handlers of exceptions, but for Ctrl-C and a stopped turn."""
    try:
        yield
    except (Exception, GeneratorExit, KeyboardInterrupt):
        raise
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # A task within the code was cancelled, and not the code.
        raise Escaped("it was cancelled from within") from cancelled
    except BaseException as raised:
        raise _escaped(raised) from raised


def _escaped(raised: BaseException) -> Escaped:
    return Escaped(f"it raised {type(raised).__name__}")


def contain_tasks() -> None:
    """Contain each task that the running loop begins from now on; asyncio ends the loop at a task's `SystemExit`."""
    asyncio.get_running_loop().set_task_factory(_task)


def _task(
    loop: asyncio.AbstractEventLoop,
    code: Coroutine[Any, Any, Answer] | Generator[Any, None, Answer],
    *,
    name: str | None = None,
    context: Context | None = None,
) -> asyncio.Task[Answer]:
    return asyncio.Task(_Contained(code), loop=loop, name=name, context=context)


class _Contained(Coroutine[Any, Any, Answer]):
    """A coroutine that raises `Escaped` in place of `SystemExit`, which would end the loop."""

    def __init__(self, code: Coroutine[Any, Any, Answer] | Generator[Any, None, Answer]) -> None:
        self._code = code

    def __getattr__(self, name: str) -> object:
        # Libraries look at the frame and the state of a task's coroutine.
        return getattr(self._code, name)

    def __await__(self) -> Generator[Any, None, Answer]:
        raise NotImplementedError("only a task runs it")

    def send(self, value: Any) -> Any:
        """Go on until the next pause."""
        return self._step(self._code.send, value)

    def throw(self, *raised: Any) -> Any:
        """Go on with an exception until the next pause."""
        return self._step(self._code.throw, *raised)

    def close(self) -> None:
        """End it where it pauses."""
        self._code.close()

    def _step(self, step: Callable[..., Any], *values: Any) -> Any:
        try:
            return step(*values)
        except SystemExit as raised:
            raise _escaped(raised) from raised
