"""Posting to a chat of operators for as long as the door is open; failed posts are tried again."""

import asyncio
import logging
from abc import abstractmethod

from app.plugins.telegram.delivery.sender import Gone, TextRefused
from app.process.tasks import BackgroundTask

LOG = logging.getLogger(__name__)
RETRY = 30.0
"""Seconds until the next try of a failed post."""


class Posting(BackgroundTask):
    """Posts texts for operators; `setting` is the name of their chat's setting."""

    setting: str

    @abstractmethod
    async def post(self) -> None:
        """Post the waiting texts, and wait for more. Raises Gone or Refused, as the sender."""

    async def run(self) -> None:
        """Post until cancelled; a failed post is tried again."""
        while True:
            try:
                await self.post()
                continue
            except (Gone, TextRefused):
                LOG.warning("%s: it cannot be written to; what is for it waits", self.setting)
            except Exception:
                LOG.exception("%s: what is for it could not be posted", self.setting)
            await asyncio.sleep(RETRY)
