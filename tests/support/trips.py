"""A turn's trips to the database: each trip to a connection, with its statements."""

from collections.abc import Iterable
from typing import Any

import pytest

from agents.memory.connection import Connection, Session, Values, Work
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.settings import Settings
from tests.support.scripted_assistant import ROLES, Planner
from tests.support.settings_cache import without_file

BEGIN = "BEGIN IMMEDIATE"


class _Counted:
    """A session that notes its statements."""

    def __init__(self, session: Session, statements: list[str]) -> None:
        self._session, self._statements = session, statements

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def execute(self, sql: str, values: Values = (), /) -> Any:
        self._statements.append(sql)
        return self._session.execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Values], /) -> Any:
        self._statements.append(sql)
        return self._session.executemany(sql, rows)


def noted(kind: type[Connection], monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Gather the statements of each trip to connections of a kind, from now on."""
    made, read = list[list[str]](), kind.read

    async def counted(self: Connection, work: Work[Any]) -> Any:
        def traced(session: Any) -> Any:
            made.append([])
            return work(_Counted(session, made[-1]))

        return await read(self, traced if type(self) is kind else work)

    monkeypatch.setattr(kind, "read", counted)
    return made


async def costs(url: str, made: list[list[str]]) -> dict[str, tuple[int, int, int]]:
    """Return the trips, statements and transactions of an ordinary turn, and of one with a tool that writes."""
    settings, found = without_file(Settings).model_copy(update={"database_url": url}), {}
    async with open_assistant(settings, models=Planner().models(ROLES)) as assistant:
        for text in ("plan", "go on", "put milk", "and on"):
            made.clear()
            await _play(assistant, text)
            statements = [sql for trip in made for sql in trip if sql != "COMMIT"]
            begun = statements.count(BEGIN)
            found[text] = len(made), len(statements) - begun, begun
    return found


async def _play(assistant: Assistant, text: str) -> None:
    async for _ in assistant.play(Turn(thread="t", text=text, user="ann")):
        pass
