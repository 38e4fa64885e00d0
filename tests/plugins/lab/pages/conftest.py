"""A server with the lab, keys for it, and a conversation to look at."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.settings import Settings
from tests.support.http_door import SHOP, calling
from tests.support.until import until

LAB, OTHER_LAB = "l" * 20, "m" * 20
KEYS = f"tutor:lab:{LAB}, mate:lab:{OTHER_LAB}, shop:talk:{SHOP}"
BY_PAGE = {"HX-Request": "true"}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings with a database and a lab of their own, and the model that needs no key."""
    monkeypatch.setenv("LAB_FOLDER", str(tmp_path / "lab"))
    own = {"database_url": f"sqlite:///{tmp_path}/http.db"}
    return Settings(_env_file=None).model_copy(update=own)


@pytest.fixture
async def assistant(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the application; somebody has talked already."""
    async with open_assistant(settings) as opened:
        for text in ("add <b>milk</b> to my list", "what is on my list?"):
            async for _ in opened.play(Turn(thread="shop:ann", text=text, user="ann")):
                pass
        yield opened


@asynccontextmanager
async def visiting(assistant: Assistant, settings: Settings, key: str) -> AsyncIterator[httpx.AsyncClient]:
    """Visit a server with keys, signed in with one of them."""
    async with calling(assistant, KEYS, settings=settings, headers=BY_PAGE) as visitor:
        if key:
            assert (await visitor.post("/sign-in", data={"key": key})).status_code == 204
        yield visitor


@pytest.fixture
async def lab(assistant: Assistant, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Visit the lab without keys, as on a developer's own machine."""
    async with calling(assistant, settings=settings, headers=BY_PAGE) as visitor:
        yield visitor


async def outcome(lab: httpx.AsyncClient, answer: httpx.Response) -> httpx.Response:
    """Wait for the outcome of some work, as the page does."""

    async def is_done() -> bool:
        nonlocal answer
        if address := re.search(r'hx-get="(/lab/work\?id=\w+)"', answer.text):
            answer = await lab.get(address[1])
        return address is None

    await until(is_done)
    return answer
