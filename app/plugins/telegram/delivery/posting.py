"""Posting to a chat of operators for as long as the door is open, whatever keeps a post from it."""

import asyncio
import logging
from abc import abstractmethod

from app.plugins.telegram.delivery.sender import Gone, TextRefused
from app.process.tasks import Beside

LOG = logging.getLogger(__name__)
RETRY = 30.0
"""Seconds until what could not be posted is tried again."""


class Posting(Beside):
    """Posts what is for operators; `setting` names their chat."""

    setting: str

    @abstractmethod
    async def post(self) -> None:
        """Post what waits, and wait for more. Raises Gone or Refused, as the sender."""

    async def run(self) -> None:
        """Post until cancelled; what fails is tried again."""
        while True:
            try:
                await self.post()
                continue
            except (Gone, TextRefused):
                LOG.warning("%s: it cannot be written to; what is for it waits", self.setting)
            except Exception:
                LOG.exception("%s: what is for it could not be posted", self.setting)
            await asyncio.sleep(RETRY)
