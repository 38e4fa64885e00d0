"""Any server that speaks OpenAI's `/audio/transcriptions`."""

from dataclasses import dataclass, field

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit
from pydantic import SecretStr

from app.assistant.speech import NotHeard, SpeechReader, suffix_of
from app.settings import Settings

LARGEST_RECORDING = 20_000_000  # Bytes.
LONGEST_TEXT = 1_000_000  # Characters.
RETRIES = 1


@dataclass(frozen=True)
class Transcriber(SpeechReader):
    """A model that writes speech down. `timeout` is in seconds, for each try."""

    url: str  # The address before `/audio/transcriptions`.
    model: str
    key: SecretStr | None = field(default=None, repr=False)
    timeout: float = Settings.model_fields["model_timeout"].default

    async def text(self, recording: bytes, lang: str) -> str:
        """Ask the server; it is told the language. Raises NotHeard."""
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
