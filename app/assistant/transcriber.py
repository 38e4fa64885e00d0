"""Speech as text: any server that speaks OpenAI's `/audio/transcriptions`."""

from dataclasses import dataclass, field

from pydantic import SecretStr

LARGEST_RECORDING = 20_000_000  # Bytes.
LONGEST_TEXT = 1_000_000  # Characters.
RETRIES = 1
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
"""The beginnings of the types of pictures in the container of recordings."""


class NotHeard(Exception):
    """A recording has no text. The message gives the reason, and none of the sent data."""


@dataclass(frozen=True)
class Transcriber:
    """A model that writes speech down. `timeout` is in seconds, for each try."""

    url: str  # The address before `/audio/transcriptions`.
    model: str
    key: SecretStr | None = field(default=None, repr=False)
    timeout: float = 60

    async def text(self, recording: bytes, lang: str) -> str:
        """Return the text of a recording; `lang` is the language to expect.

        Raises:
            NotHeard: the server does not answer, the data is no recording or too large, or nobody speaks in it.
        """
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit

        suffix = suffix_of(recording)
        if suffix is None or len(recording) > LARGEST_RECORDING:
            raise NotHeard("it is no recording, or too large")
        try:
            async with AsyncOpenAI(
                base_url=self.url,
                api_key=self.key.get_secret_value() if self.key else "none",
                timeout=self.timeout,
                max_retries=RETRIES,
                # A proxy from the environment would see the key and the speech.
                http_client=DefaultAsyncHttpxClient(follow_redirects=False, trust_env=False),
            ) as client:
                answer = await client.audio.transcriptions.create(
                    # The server takes the kind of the recording from the name of the file.
                    file=(f"speech.{suffix}", recording),
                    model=self.model,
                    language=lang,
                    response_format="json",
                    extra_headers=None if self.key else {"Authorization": Omit()},
                )
        # For a malformed address, the client raises errors of its HTTP library.
        except Exception as failure:
            raise NotHeard(type(failure).__name__) from None
        text = getattr(answer, "text", None)
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
            raise NotHeard("nothing was said in it, or far too much")
        return text.strip()


def suffix_of(recording: bytes) -> str | None:
    """Return the suffix for a recording, by its first bytes; None for other data."""
    if recording[4:8] == b"ftyp" and recording[8:11] in _STILLS:
        return None
    return next((suffix for at, mark, suffix in _BEGINNINGS if recording[at : at + len(mark)] == mark), None)
