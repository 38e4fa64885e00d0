"""The common part of the lab's pages: the visitor, the language, and the templates."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import PlainTextResponse
from markupsafe import Markup
from pydantic import BaseModel

from agents.errors import ConfigError, UsageError
from app.assistant import Assistant
from app.assistant.records import Decided
from app.doors.http.exchange import Served, who
from app.doors.http.pages import guard
from app.doors.http.pages.conversation import Conversation
from app.doors.http.pages.guard import accepted_language, links, user_of
from app.doors.http.pages.markup import drawn, make_templates
from app.doors.http.pages.paths import VERSION, static_file, version_of
from app.plugins.lab.agents import Workshop
from app.plugins.lab.cases import Case
from app.plugins.lab.desk import Desk
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.folder import Kind, LabFolder, Part, lab_folder
from app.plugins.lab.forms import form_data
from app.plugins.lab.live import OpenTalks, Works
from app.plugins.lab.mocks import Mock
from app.plugins.lab.reasons import PHRASES, PROBLEMS, worded
from app.plugins.lab.simulation import SimulatedUser
from app.presentation.lines import moment
from app.process.exit_codes import FAULTS, told
from app.security.api_keys import Key
from app.security.audit import Action, deed
from app.settings import Settings
from app.yaml_file import MisfitValue
from prompts import FALLBACK, languages, retold, sentence, table

LISTED: Mapping[str, type[BaseModel]] = {"cases": Case, "desk": DeskSession, "mocks": Mock, "users": SimulatedUser}
"""The models of the files that a page lists, by kind."""
PARTS = ("threads", "runs", "mocks", "agents", "tools", "desk")
"""The parts of the lab, in the order of the navigation."""
MOST_FIELDS = 4_000
"""The most fields of a form: a case of some hundred turns has seven for each."""
TEMPLATES = make_templates(Path(__file__).parent / "templates")
TEMPLATES.filters["moment"] = moment
FILES = Path(__file__).parent / "static"
LAB_VERSION = version_of(FILES)


def text(key: str, lang: str, /, **facts: object) -> str:
    """Return a sentence of the lab, or of the page, in a language."""
    own = table(PHRASES, FALLBACK)
    return sentence(PHRASES if key.partition(".")[0] in own else "page", key, lang, **facts)


class Benches(NamedTuple):
    """The lab's works, trials and desks in this process."""

    works: Works[Response]
    trials: OpenTalks[Conversation]
    desks: OpenTalks[Desk]


@dataclass(frozen=True)
class LabVisit:
    """One request of a visitor in the lab."""

    visitor: Key
    assistant: Assistant
    settings: Settings
    benches: Benches
    lang: str
    homes: Sequence[tuple[str, str]]
    """Where a conversation begins outside the lab."""
    broken: list[str] = field(default_factory=list)
    """The faults of files that the page would show."""

    @property
    def folder(self) -> LabFolder:
        """The lab's files."""
        return lab_folder()

    @property
    def workshop(self) -> Workshop:
        """The visitor's agents."""
        return Workshop(self.folder, self.visitor.holder)

    @property
    def models(self) -> list[str]:
        """The models in the settings: those of roles, and those with a price."""
        settings = self.settings
        roles = [settings.observer_model, settings.fallback_model, *settings.role_models.values()]
        return sorted({model for model in (settings.llm_model, *roles, *settings.llm_prices) if model})

    @property
    def tools(self) -> list[str]:
        """The names of all tools."""
        return sorted({tool.name for speaker in self.assistant.speakers for tool in speaker.tools})

    @property
    def mocks(self) -> list[Mock]:
        """The lab's mocks whose files have no fault."""
        return [*self.sound("mocks", Mock, *self.folder.names("mocks")).values()]

    def files(self, kind: str) -> Mapping[str, BaseModel]:
        """Return the files of a kind by their names, as `sound` does."""
        return self.sound(kind, LISTED[kind], *self.folder.names(kind))

    def sound(self, kind: str, model: type[Part], *names: str) -> dict[str, Part]:
        """Return these files of a kind. The page shows the fault of a broken one beside the others."""
        parts = dict[str, Part]()
        for name in names:
            try:
                parts[name] = self.folder.read(kind, name, model)
            except UsageError as wrong:
                self.broken.append(told(wrong, self.lang))
        return parts

    async def check_model(self, model: str, *path: str) -> None:
        """Raise UsageError if the model of a form cannot be used; `path` is that of its field."""
        try:
            await asyncio.to_thread(self.settings.models, model) if model else None
        except ConfigError as wrong:
            raise MisfitValue(str(wrong), path, partial(sentence, "lab/phrases", "unusable_model")) from None

    def deed(self, what: Action, thread: str = "", about: str = "") -> AbstractAsyncContextManager[None]:
        """Write a deed of the visitor that affects others to the audit log."""
        return deed(self.assistant.services, who(self.visitor), what, thread, about)

    def why(self, made: Decided) -> str:
        """Return the reason of a decision in the visitor's language."""
        return worded(made, self.lang)

    def told(self, text: str, file: str = PROBLEMS) -> str:
        """Return a text of a file of the lab, or of a trace, in the visitor's language, if it is one of ours."""
        return retold(file, text, self.lang)

    def draw(self, name: str, /, **values: object) -> Markup:
        """Return a template of the lab as HTML."""

        def own_text(key: str, **facts: object) -> str:
            return text(key, self.lang, **facts)

        return drawn(TEMPLATES, name, self.lang, own_text, visit=self, **values)

    def page(self, part: str, /, **values: object) -> str:
        """Return a whole page of the lab."""
        frame = {"part": part.partition("/")[0], "parts": PARTS, "name": self.visitor.name, "version": VERSION}
        frame["lab_version"] = LAB_VERSION
        return self.draw(part.replace("/", "_"), **frame, languages=languages(), **values)


async def _visit(
    request: Request, visitor: Annotated[Key, Depends(guard.visiting("lab"))], assistant: Served
) -> LabVisit:
    preferred = (await assistant.preferences(user_of(visitor))).lang
    lang = request.state.lang = preferred or accepted_language(request)
    homes = links(request, visitor, "home", lang)
    return LabVisit(visitor, assistant, assistant.services.get(Settings), request.app.state.lab, lang, homes)


async def _nested(request: Request) -> Mapping[str, Any]:
    async with request.form(max_fields=MOST_FIELDS) as sent:
        # The page gives each form an `id`, which the lab does not need.
        return form_data([(name, text) for name, text in sent.multi_items() if isinstance(text, str) and name != "id"])


Visiting = Annotated[LabVisit, Depends(_visit)]
Text = Annotated[str, Form()]
Number = Annotated[int, Form(ge=0)]
Nested = Annotated[Mapping[str, Any], Depends(_nested)]
"""The fields of a form as nested data, which nobody has checked yet."""
FileName = Annotated[str, Query(max_length=61)]


class LabRoute(guard.PageRoute):
    """A path of the lab; it shows a fault that the visitor can mend in the lab's own words."""

    own_words = FAULTS


def new_router() -> APIRouter:
    """Return a router for pages of the lab."""
    return guard.new_router(LabRoute)


def led_to(address: str) -> Response:
    """Return the response that leads the browser to another page of the lab."""
    return Response(status_code=204, headers={"HX-Redirect": address})


def as_file(text: str, name: str) -> Response:
    """Return a text as a file to be kept; its name has `_` for `-`, as a module of tests has."""
    headers = {"Content-Disposition": f'attachment; filename="{name.replace("-", "_")}"'}
    return PlainTextResponse(text, headers=headers)


router = new_router()


@router.get("/lab")
@router.get("/lab/agents")
@router.get("/lab/desk")
@router.get("/lab/mocks")
@router.get("/lab/runs")
def part(visit: Visiting, request: Request) -> str:
    """Show the first page, or a part of the lab: a list of its files, with the way to begin a new one."""
    return visit.page(request.url.path.removeprefix("/lab").strip("/") or "home")


@router.get("/lab/static/{name}")
async def static(name: str) -> Response:
    """Return a file of the lab's pages."""
    return static_file(FILES, name)


@router.post("/lab/delete")
async def delete(visit: Visiting, kind: Annotated[Kind, Form()], name: Text) -> Response:
    """Delete a file of the lab's folder."""
    visit.folder.delete(kind, name)
    if kind == "desk":
        await visit.benches.desks.close(name)
    return led_to(f"/lab/{kind if kind in PARTS else 'runs'}")
