"""`serve`: the HTTP door."""

from typing import Annotated

import typer

from app.doors.http import service
from app.settings import read_settings

Host = Annotated[str, typer.Option(help="Where it listens; only this machine unless API_KEYS are set.")]
Port = Annotated[int, typer.Option(min=0, max=65535)]


async def serve(*, host: Host = "127.0.0.1", port: Port = 8000) -> int:
    """Answer over HTTP, until stopped."""
    return await service.serve(read_settings(), host, port)
