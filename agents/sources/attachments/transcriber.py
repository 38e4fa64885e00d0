"""Speech as text: any server that speaks OpenAI's `/audio/transcriptions`."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
from pydantic import SecretStr

from agents.sources.web.ssrf import BodyRefused, read_body

LARGEST_RECORDING = 20_000_000
"""Bytes of a recording."""
LARGEST_ANSWER = 1_000_000
TRIES = 2
PAUSE = 0.5
"""Seconds until the second try."""
LONGEST_PAUSE = 5.0
"""Seconds until then at most, whatever the server asks for."""
_BEGINNINGS = (
    (0, b"OggS", "ogg"),
    (0, b"ID3", "mp3"),
    (0, b"\xff\xfb", "mp3"),
    (0, b"\xff\xf3", "mp3"),
    (0, b"fLaC", "flac"),
    (0, b"\x1a\x45\xdf\xa3", "webm"),
    (8, b"WAVE", "wav"),
    (4, b"ftypM4A", "m4a"),
    (4, b"ftyp", "mp4"),
)
_STILLS = (b"hei", b"hev", b"mif", b"msf", b"avi")
"""How the names of pictures begin that are packed like recordings."""


class NotHeard(Exception):
    """There is no text of a recording; the message says why, and nothing of what was sent."""


@dataclass(frozen=True)
class Transcriber:
    """A model that writes down what is said. `timeout` is in seconds, for each try."""

    url: str
    """The address before `/audio/transcriptions`."""
    model: str
    key: SecretStr | None = field(default=None, repr=False)
    timeout: float = 60

    async def text(self, recording: bytes, lang: str) -> str:
        """Return what is said in a recording; `lang` is the language to expect.

        Raises:
            NotHeard: the server does not answer, the recording is none or too large, or nobody speaks in it.
        """
        kind = kind_of(recording)
        if kind is None or len(recording) > LARGEST_RECORDING:
            raise NotHeard("it is no recording, or too large")
        parts = {"model": self.model, "language": lang, "response_format": "json"}
        # The server takes the kind from the name.
        file = {"file": (f"speech.{kind}", recording)}
        headers = {"Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.key.get_secret_value()}"} if self.key else {}
        async with httpx.AsyncClient(timeout=self.timeout, follow_redirects=False) as client:
            for _ in range(TRIES - 1):
                try:
                    return await self._ask(client, parts, file, headers)
                except _Passing as failure:
                    await asyncio.sleep(failure.pause)
            return await self._ask(client, parts, file, headers)

    async def _ask(
        self,
        client: httpx.AsyncClient,
        parts: Mapping[str, str],
        file: Mapping[str, tuple[str, bytes]],
        headers: Mapping[str, str],
    ) -> str:
        try:
            address = f"{self.url.rstrip('/')}/audio/transcriptions"
            request = client.build_request("POST", address, data=dict(parts), files=file, headers=headers)
            async with asyncio.timeout(self.timeout):
                response = await client.send(request, stream=True)
                try:
                    body = await read_body(response, LARGEST_ANSWER)
                finally:
                    await response.aclose()
        except (httpx.InvalidURL, UnicodeError) as wrong:
            raise NotHeard(f"it has no address ({type(wrong).__name__})") from None
        except (httpx.HTTPError, TimeoutError) as lost:
            raise _Passing(f"no answer ({type(lost).__name__})", PAUSE) from None
        except BodyRefused as refused:
            raise NotHeard(str(refused)) from None
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.status_code >= 500:
            raise _Passing(f"status {response.status_code}", _pause(response))
        if response.status_code != httpx.codes.OK:
            raise NotHeard(f"status {response.status_code}")
        return _text(body)


class _Passing(NotHeard):
    """A failure that another try may mend, after a pause in seconds."""

    def __init__(self, reason: str, pause: float) -> None:
        super().__init__(reason)
        self.pause = pause


def kind_of(recording: bytes) -> str | None:
    """Return how names of such recordings end, by the first bytes; None for data that is no recording."""
    if recording[4:8] == b"ftyp" and recording[8:11] in _STILLS:
        return None
    return next((kind for at, mark, kind in _BEGINNINGS if recording[at : at + len(mark)] == mark), None)


def _text(body: bytes) -> str:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise NotHeard("its answer is not JSON") from None
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise NotHeard("nothing was said in it")
    return text.strip()


def _pause(response: httpx.Response) -> float:
    header = response.headers.get("retry-after", "")
    return min(float(header), LONGEST_PAUSE) if header.isdecimal() else PAUSE
