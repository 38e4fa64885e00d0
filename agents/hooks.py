"""Hooks: functions that get a request and the next function; a hook may answer in its place."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Request = TypeVar("Request")
Reply = TypeVar("Reply")


def around(
    hooks: Sequence[Callable[[Request, Callable[[Request], Reply]], Reply]], handler: Callable[[Request], Reply]
) -> Callable[[Request], Reply]:
    """Return a handler with hooks around it, the first one outermost; without hooks the handler itself."""
    for hook in reversed(hooks):
        handler = _around(hook, handler)
    return handler


def _around(
    hook: Callable[[Request, Callable[[Request], Reply]], Reply], handler: Callable[[Request], Reply]
) -> Callable[[Request], Reply]:
    return lambda request: hook(request, handler)
