"""What an operator can set for the player; `.env.example` beside this file explains each."""

from pathlib import Path

from pydantic import SecretStr, model_validator
from pydantic_settings import BaseSettings

from agents.sources.web.ssrf import policy_of


class PlayerSettings(BaseSettings):
    """Where films and series are."""

    media_folder: Path | None = None
    kodi_url: str = ""
    kodi_user: str = "kodi"
    kodi_password: SecretStr | None = None

    @model_validator(mode="after")
    def _usable(self) -> "PlayerSettings":
        """Check that the media folder is there, or that Kodi's address can be used; Kodi need not answer yet."""
        if self.media_folder and self.kodi_url:
            raise ValueError("MEDIA_FOLDER, KODI_URL: set one of them; the other player would never be used")
        if self.media_folder and not self.media_folder.is_dir():
            raise ValueError(f"MEDIA_FOLDER: there is no folder {self.media_folder}")
        try:
            if self.kodi_url:
                policy_of(self.kodi_url, internal=True)
        except ValueError as wrong:
            raise ValueError(f"KODI_URL {wrong}") from None
        return self
