"""Who looks at the page: a cookie that holds the name of a key, signed with the key's own secret.

So a session outlives a restart, and dies with its key.
"""

import hashlib
import hmac
import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Request, Response

from app.security.api_keys import EVERYTHING, Key
from prompts import FALLBACK, languages

COOKIE = "dialogs_session"
LASTS = 30 * 24 * 3600
"""Seconds for which somebody stays signed in."""
LOCAL = "local"
"""The user where no keys are set: the one of the terminal."""


def user_of(key: Key) -> str:
    """Return the user as whom the holder of a key speaks on the page: each key has one, called like the key."""
    return key.inside(key.name or LOCAL)


def visitor_of(request: Request, keys: Sequence[Key]) -> Key | None:
    """Return the key of who sends a request; None if they have to sign in."""
    return _holder(request.cookies.get(COOKIE, ""), keys) if keys else EVERYTHING


def sign_in(request: Request, response: Response, key: Key) -> None:
    """Let the holder of a key stay signed in."""
    expires = int(time.time()) + LASTS
    value = f"{key.name}.{expires}.{_signature(key, expires)}"
    is_secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, value, max_age=LASTS, httponly=True, samesite="strict", secure=is_secure)


def sign_out(response: Response) -> None:
    """Let the browser forget the session."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def _holder(cookie: str, keys: Sequence[Key]) -> Key | None:
    name, _, rest = cookie.partition(".")
    expires, _, signature = rest.partition(".")
    key = next((key for key in keys if key.name == name), None)
    # Longer numbers than any time cannot be read as a number.
    if key is None or not expires.isascii() or not expires.isdecimal() or len(expires) > len(str(2**63)):
        return None
    is_signed = hmac.compare_digest(signature.encode("utf-8", "replace"), _signature(key, int(expires)).encode())
    return key if is_signed and time.time() < int(expires) else None


def _signature(key: Key, expires: int) -> str:
    text = f"page session\n{key.name}\n{expires}"
    return hmac.new(key.secret.get_secret_value().encode(), text.encode(), hashlib.sha256).hexdigest()


def accepted_language(request: Request) -> str:
    """Return the language of the page for a browser: the first one that it prefers and that there is."""
    header = request.headers.get("accept-language", "")
    preferred = (part.partition(";")[0].strip().partition("-")[0].lower() for part in header.split(","))
    return next((lang for lang in preferred if lang in languages()), FALLBACK)


Language = Annotated[str, Depends(accepted_language)]
