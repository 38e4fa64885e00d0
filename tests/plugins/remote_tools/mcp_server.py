"""An MCP server for tests: `python -m tests.plugins.remote_tools.mcp_server stdio`, or the same with `http PORT`."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

LENT: list[str] = []


class Book(BaseModel):
    """One book."""

    id: str
    title: str


BOOKS = [Book(id="urn:isbn:9780140449136", title="The Odyssey"), Book(id="urn:isbn:9780141439518", title="Emma")]
port = int(sys.argv[2]) if len(sys.argv) > 2 else 0


@asynccontextmanager
async def session(_: FastMCP) -> AsyncIterator[None]:
    """Lend nothing yet: each session counts for itself, also where several tests share a process."""
    LENT.clear()
    yield


server = FastMCP("library", port=port, log_level="CRITICAL", lifespan=session)


@server.tool(description=os.environ.get("FIND_BOOKS"))
async def find_books(title: str) -> list[Book]:
    """Find books by a word of their title."""
    return [book for book in BOOKS if title.lower() in book.title.lower()]


@server.tool()
async def lend(book: str, reader: str) -> str:
    """Lend a book to a reader."""
    if book not in [entry.id for entry in BOOKS]:
        raise ValueError(f"no book {book}")
    LENT.append(book)
    return f"{reader} has it, as no. {len(LENT)} of process {os.environ.get('SHELF', '?')}"


@server.tool()
async def new_books(most: int) -> list[Book]:
    """Tell which books are new."""
    return BOOKS[:most]


@server.tool(structured_output=False)
async def catalogue(shelf: str) -> str:
    """Return the books of a shelf as JSON in a text."""
    if shelf != "all":
        raise ValueError(json.dumps({"error": {"message": f"no shelf {shelf}"}}))
    return json.dumps({"books": [{"isbn": book.id, "name": book.title} for book in BOOKS]})


@server.tool()
async def join(reader: str) -> dict[str, str]:
    """Begin a membership."""
    return {"reader": reader, "page": "https://library.example/join"}


@server.tool()
async def nap(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
async def freeze() -> str:
    """Answer nothing any more."""
    time.sleep(600)  # noqa: ASYNC251  # a server that hangs is meant
    return "thawed"


@server.tool()
async def collapse() -> dict[str, Any]:
    """End the process."""
    os._exit(1)


if __name__ == "__main__":
    server.run("stdio" if sys.argv[1] == "stdio" else "streamable-http")
