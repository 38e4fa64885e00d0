"""JSON-RPC 2.0 over HTTP, as Kodi answers it."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr, ValidationError

from agents.sources.web.fetcher import Fetcher, NotFetched
from dialogs.player.players import Code, PlayerError

METHOD_NOT_FOUND = -32601
Params = Mapping[str, object]


class _Error(BaseModel):
    code: int
    message: Annotated[str, Field(max_length=1_000)] = ""


class _Response(BaseModel):
    jsonrpc: Literal["2.0"]
    id: int
    error: _Error | None = None
    result: object = None


@dataclass(frozen=True)
class KodiRpc:
    """Kodi's web server at `url` (such as `http://tv.lan:8080`); the fetcher sets how long an answer may take."""

    url: str
    fetcher: Fetcher
    user: str = ""
    password: SecretStr | None = None
    _ids: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    async def call(self, method: str, params: Params | None = None, *, refused: Code = "unreachable") -> object:
        """Return the result of a method.

        Raises:
            PlayerError: `refused` if Kodi does not do it; "unreachable" if it does not answer.
        """
        id = next(self._ids)
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        try:
            answer = await self.fetcher.answer(f"{self.url.rstrip('/')}/jsonrpc", body=request, headers=self._headers())
            response = _Response.model_validate(answer)
        except NotFetched as fault:
            raise self.unreachable(str(fault)) from fault
        except ValidationError:
            raise self.unreachable("its answer is no JSON-RPC 2.0") from None
        if response.id != id:
            raise self.unreachable("it answered another request")
        if response.error is None:
            return response.result
        if response.error.code == METHOD_NOT_FOUND or refused == "unreachable":
            raise self.unreachable(f"{method} was refused with {response.error.code}; is it older than Kodi 18?")
        raise PlayerError(refused)

    def unreachable(self, reason: str) -> PlayerError:
        """Return the error to raise, which tells the operator why there is no good answer, and what to look at."""
        hint = "check KODI_USER and KODI_PASSWORD" if reason.endswith(" 401") else "check KODI_URL, and Kodi"
        return PlayerError("unreachable", reason=f"Kodi at {self.url}: {reason}; {hint}")

    def _headers(self) -> dict[str, str]:
        # Kodi may close a connection that was kept just when the next request is sent on it.
        headers = {"Connection": "close"}
        if self.password is not None:
            pair = f"{self.user}:{self.password.get_secret_value()}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers
