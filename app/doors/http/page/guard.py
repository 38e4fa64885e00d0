"""What stands before every path of the page: headers, the sign that the page itself calls, and who looks at it."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from fastapi.routing import APIRoute

from agents.errors import UsageError
from app.doors.http.answers import Busy
from app.doors.http.page.markup import draw
from app.doors.http.page.session import accepted_language, visitor_of
from app.security.api_keys import Key, Scope
from prompts import table

SIGN_IN = "/sign-in"
STATUSES: Mapping[type[Exception], int] = {RequestValidationError: 422, UsageError: 409, Busy: 503}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # The address of a conversation is nobody else's business; a form of the page still tells its origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
}


class PageRoute(APIRoute):
    """A path of the page; a writing one is called by the page alone."""

    faults: tuple[type[Exception], ...] = ()
    """The failures that are told in their own words."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with what stands before it."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                # A form of another site cannot set this header.
                if request.method != "GET" and "hx-request" not in request.headers:
                    raise HTTPException(403)
                response = await handle(request)
            except self.faults as failure:
                response = _refused(request, 409, str(failure))
            except HTTPException as refusal:
                response = _refused(request, refusal.status_code)
            except (RequestValidationError, UsageError, Busy) as failure:
                response = _refused(request, STATUSES[type(failure)])
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return guarded


def _refused(request: Request, status: int, words: str = "") -> Response:
    """Tell the user in a sentence that a request is refused; who is not signed in is led to the form for it."""
    is_of_page, lang = "hx-request" in request.headers, accepted_language(request)
    if status == 401 and not is_of_page:
        return RedirectResponse(SIGN_IN, 303)
    sentences = table("page", lang)["refused"]
    text = words or sentences.get(str(status), sentences["rest"])
    if is_of_page:
        return PlainTextResponse(text, status, {"HX-Redirect": SIGN_IN} if status == 401 else None)
    return HTMLResponse(draw("refused", lang, text=text), status)


def visiting(scope: Scope) -> Callable[[Request], Key]:
    """Return what gives the keys of those who look at a page and have the scope."""

    def visitor(request: Request) -> Key:
        key = visitor_of(request, request.app.state.keys)
        if key is None:
            raise HTTPException(401)
        if not key.allows(scope):
            raise HTTPException(403)
        return key

    return visitor


Visiting = Annotated[Key, Depends(visiting("talk"))]
