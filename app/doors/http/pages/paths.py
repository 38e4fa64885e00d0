"""The paths that all pages need, to sign in and for their files, and the forms that they send."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse

from app.assistant.pictures import MOST_PICTURES
from app.doors.http.pages.guard import COOKIE, SIGN_IN, Language, links, new_router, session_of, sign_in
from app.doors.http.pages.markup import draw
from app.doors.http.uploads import Upload
from app.security.api_keys import holder_of
from app.security.rates import HourlyCount, network_of

_ID = re.compile(r"[\w.:-]{8,100}", re.ASCII)
FILES = Path(__file__).parent / "static"


def version_of(folder: Path) -> str:
    """Return a version that changes with the files of a folder."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()[:12]


VERSION = version_of(FILES)
router = new_router()


@dataclass(frozen=True)
class SentForm:
    """The data of a page's form."""

    fields: Mapping[str, str]
    uploads: Sequence[Upload]


async def _form(request: Request) -> SentForm:
    """Return the fields and files of a form. Raises HTTPException: they cannot be read."""
    async with request.form(max_files=MOST_PICTURES, max_fields=100) as sent:
        fields = {name: value for name, value in sent.multi_items() if isinstance(value, str)}
        # Without a chosen file a browser sends one that has no name.
        files = [(name, file) for name, file in sent.multi_items() if not isinstance(file, str) and file.filename]
        uploads = [
            Upload(await file.read(), (file.filename or "")[:100], is_recorded=name == "voice") for name, file in files
        ]
    return SentForm(fields, uploads)


def _new_id(form: Annotated[SentForm, Depends(_form)]) -> str:
    """Return the id of a page's form: the same form again does nothing twice."""
    id = form.fields.get("id", "")
    if not _ID.fullmatch(id):
        raise HTTPException(422)
    return id


Sent = Annotated[SentForm, Depends(_form)]
NewId = Annotated[str, Depends(_new_id)]


@router.get(SIGN_IN)
async def ask_for_key(lang: Language) -> str:
    """Return the form that takes a key."""
    return draw("sign_in", lang, version=VERSION)


@router.post(SIGN_IN)
async def take_key(request: Request, form: Sent, lang: Language) -> Response:
    """Let the holder of a key in."""
    wrong_keys: HourlyCount = request.app.state.wrong_keys
    address = network_of(request.client.host if request.client else "")
    if wrong_keys.is_reached(address):
        raise HTTPException(429)
    key = holder_of(form.fields.get("key", "").strip(), request.app.state.keys)
    if key is None:
        wrong_keys.admits(address)
    homes = [link for kind in ("home", "link") for link in links(request, key, kind, lang)] if key else []
    if key is None or not homes:
        return HTMLResponse(draw("wrong_key", lang))
    response = Response(status_code=204, headers={"HX-Redirect": homes[0][0]})
    sign_in(request, response, key)
    return response


@router.post("/sign-out")
async def forget_key(request: Request) -> Response:
    """End the session of this browser, and its streams."""
    for stream in request.app.state.streams.of(session_of(request)):
        stream.close()
    response = Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a file of all pages."""
    return static_file(FILES, name)


def static_file(folder: Path, name: str) -> Response:
    """Return a file whose address changes with it. Raises HTTPException: the folder has no such file."""
    if name not in {path.name for path in folder.iterdir()}:
        raise HTTPException(404)
    return FileResponse(folder / name, headers={"Cache-Control": "public, max-age=31536000, immutable"})
