"""What every page has: who looks at it, the sign that the page itself calls, and a sentence for each fault."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from fastapi.routing import APIRoute

from app.doors.http.exchange import having
from app.doors.http.page.markup import draw
from app.doors.http.page.session import accepted_language, visitor_of
from app.security.api_keys import Key, Scope
from prompts import table

SIGN_IN = "/sign-in"


class PageRoute(APIRoute):
    """A path of the page, whose faults are told in a sentence."""

    own_words: tuple[type[Exception], ...] = ()
    """The failures that say themselves what is to be put right."""


def new_router(kind: type[PageRoute] = PageRoute, prefix: str = "") -> APIRouter:
    """Return a router for pages."""
    return APIRouter(
        prefix=prefix,
        route_class=kind,
        dependencies=[Depends(_of_page)],
        include_in_schema=False,
        default_response_class=HTMLResponse,
    )


def _of_page(request: Request) -> None:
    # A form of another site cannot set this header.
    if request.method != "GET" and "hx-request" not in request.headers:
        raise HTTPException(403)


def refused(request: Request, route: PageRoute, status: int, failure: Exception) -> Response:
    """Tell the user in a sentence that a request is refused; who is not signed in is led to the form for it."""
    is_of_page, lang = "hx-request" in request.headers, accepted_language(request)
    if status == 401 and not is_of_page:
        return RedirectResponse(SIGN_IN, 303)
    sentences = table("page", lang)["refused"]
    text = sentences.get(str(status), sentences["rest"])
    if isinstance(failure, route.own_words):
        status, text = 409, str(failure)
    if is_of_page:
        return PlainTextResponse(text, status, {"HX-Redirect": SIGN_IN} if status == 401 else None)
    return HTMLResponse(draw("refused", lang, text=text), status)


def visiting(scope: Scope) -> Callable[[Request], Key]:
    """Return what gives the keys of those who look at a page and have the scope."""

    def visitor(request: Request) -> Key:
        return having(visitor_of(request, request.app.state.keys), scope)

    return visitor


Visiting = Annotated[Key, Depends(visiting("talk"))]
