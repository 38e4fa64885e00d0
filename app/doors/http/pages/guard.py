"""Visitors of a page, the proof that a request comes from the page itself, and a sentence for each error.

A cookie holds the name of a key, signed with the key's own secret: so a session outlives a restart, and dies with its
key.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from fastapi.routing import APIRoute

from app.doors.http.exchange import having
from app.doors.http.pages.markup import draw
from app.process.exit_codes import told
from app.security.api_keys import EVERYTHING, Key, Scope
from app.yaml_file import MisfitValue
from prompts import FALLBACK, languages, table

COOKIE = "dialogs_session"
LASTS = 30 * 24 * 3600
"""Seconds that a visitor stays signed in."""


def user_of(key: Key) -> str:
    """Return the user as whom the holder of a key speaks: each key has one; without keys it is the terminal's."""
    return key.inside(key.holder)


def visitor_of(request: Request, keys: Sequence[Key]) -> Key | None:
    """Return the key of a request's sender; None if they have to sign in."""
    return _holder(request.cookies.get(COOKIE, ""), keys) if keys else EVERYTHING


def session_of(request: Request) -> str:
    """Return the text that tells a signed-in browser from others."""
    return f"session {request.cookies.get(COOKIE, '')}"


def sign_in(request: Request, response: Response, key: Key) -> None:
    """Let the holder of a key stay signed in."""
    is_secure, value = request.url.scheme == "https", _signed(key, str(int(time.time()) + LASTS))
    response.set_cookie(COOKIE, value, max_age=LASTS, httponly=True, samesite="strict", secure=is_secure)


def _holder(cookie: str, keys: Sequence[Key]) -> Key | None:
    name, _, rest = cookie.partition(".")
    expires, key = rest.partition(".")[0], next((key for key in keys if key.name == name), None)
    is_signed = key is not None and hmac.compare_digest(_plain(cookie), _plain(_signed(key, expires)))
    # A time that is signed is one of ours.
    return key if is_signed and time.time() < int(expires) else None


def _signed(key: Key, expires: str) -> str:
    secret, text = _plain(key.secret.get_secret_value()), f"page session\n{key.name}\n{expires}"
    return f"{key.name}.{expires}.{hmac.new(secret, _plain(text), hashlib.sha256).hexdigest()}"


def _plain(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def accepted_language(request: Request) -> str:
    """Return the language of the page for a browser: the first one that it prefers and that there is."""
    header = request.headers.get("accept-language", "")
    preferred = (part.partition(";")[0].strip().partition("-")[0].lower() for part in header.split(","))
    return next((lang for lang in preferred if lang in languages()), FALLBACK)


Language = Annotated[str, Depends(accepted_language)]
SIGN_IN = "/sign-in"


class PageRoute(APIRoute):
    """A path of the page, whose faults are told in a sentence."""

    own_words: tuple[type[Exception], ...] = ()
    """Failures whose own words name the remedy."""
    conflict = "page", "409"
    """The sentence for an action that is no longer possible."""


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


def refused(request: Request, status: int, failure: Exception) -> Response:
    """Tell the user in a sentence that a request is refused; a visitor who is not signed in gets the form for it."""
    is_of_page = "hx-request" in request.headers
    lang = getattr(request.state, "lang", None) or accepted_language(request)
    if status == 401 and not is_of_page:
        return RedirectResponse(SIGN_IN, 303)
    sentences = table("page", lang)["refused"]
    route = request.scope.get("route")
    file, key = getattr(route, "conflict", ("page", "409")) if status == 409 else ("page", str(status))
    text = (sentences | table(file, lang)["refused"]).get(key, sentences["rest"])
    headers = {"HX-Redirect": SIGN_IN} if status == 401 else {}
    if isinstance(failure, getattr(route, "own_words", ())):
        status, text = 409, told(failure, lang)
    if is_of_page and isinstance(failure, MisfitValue) and failure.path:
        # The page knows by which words the form calls the place.
        headers, text = {"X-Misfit": json.dumps(failure.path)}, failure.reason(lang)
    if is_of_page:
        return PlainTextResponse(text, status, headers)
    visitor = visitor_of(request, request.app.state.keys)
    homes = links(request, visitor, "home", lang) if visitor else []
    return HTMLResponse(draw("refused", lang, text=text, homes=homes), status)


def visiting(scope: Scope) -> Callable[[Request], Key]:
    """Return a dependency that gives the key of a page's visitor with the scope."""

    def visitor(request: Request) -> Key:
        return having(visitor_of(request, request.app.state.keys), scope)

    return visitor


Visiting = Annotated[Key, Depends(visiting("talk"))]


def links(request: Request, key: Key, kind: str, *about: str) -> list[tuple[str, str]]:
    """Return the addresses and names that plug-ins give to the holder of a key, by their functions of this name."""
    modules = (module for module in request.app.state.plugins if hasattr(module, kind) and key.allows(module.SCOPE))
    return [getattr(module, kind)(*about) for module in modules]
