"""All pages of the lab."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app.plugins.lab.live import OpenTalks, Works
from app.plugins.lab.pages import agents, desk, runs, threads, tools, visit

SCOPE = "lab"
PAGES = (visit.router, threads.router, runs.router, agents.router, tools.router, desk.router)
router = visit.new_router()
for page in PAGES:
    router.include_router(page)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Let visitors work and talk in the lab during the block; its end ends their works and talks."""
    works, trials, desks = app.state.lab = visit.Benches(Works(), OpenTalks(), OpenTalks())
    try:
        yield
    finally:
        for part in (works, trials, desks):
            await part.close()


def link(lang: str) -> tuple[str, str]:
    """Return the address and the name of the lab, for the menu of a visitor who may use it."""
    return "/lab", visit.text("lab", lang)


def thread_link(thread: str, lang: str) -> tuple[str, str]:
    """Return the address of a thread's page, and the text of the link to it."""
    return threads.address_of(thread), visit.text("in_lab", lang)
