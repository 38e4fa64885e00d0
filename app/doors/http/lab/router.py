"""All pages of the lab."""

from fastapi import FastAPI

from app.doors.http.lab import agents, desk, runs, threads, tools, visit
from app.lab.live import OpenTalks, Works
from app.settings import Settings

PAGES = (visit.router, threads.router, runs.router, agents.router, tools.router, desk.router)


def add_to(app: FastAPI, settings: Settings) -> None:
    """Add the pages of the lab to an application; whoever serves it closes what `state.closing` lists."""
    app.state.settings, app.state.works = settings, Works()
    app.state.trials, app.state.desks = OpenTalks(), OpenTalks()
    app.state.closing += [app.state.desks, app.state.trials, app.state.works]
    app.state.links.append(("lab", visit.link))
    router = visit.new_router()
    for part in PAGES:
        router.include_router(part)
    app.include_router(router)
