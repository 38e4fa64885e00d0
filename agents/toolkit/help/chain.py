"""The chain of help: links are asked in turn until one has an answer, which is shown with its source."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from agents.toolkit.help import LONGEST_ANSWER, LONGEST_QUESTION, Exhausted, HelpRequest, Link, plain
from agents.toolkit.help.pages import Pages
from prompts import phrase

LOG = logging.getLogger(__name__)


class HelpChain:
    """The links in their order, our own pages if none are given; `timeout` is in seconds, for each link."""

    def __init__(self, links: Sequence[Link] | None = None, timeout: float = 10) -> None:
        self.links = (Pages(),) if links is None else tuple(links)
        self.timeout = timeout

    @property
    def reaches_out(self) -> bool:
        """Whether a question may leave this machine and an answer be somebody else's: not where only pages are read."""
        return any(not isinstance(link, Pages) for link in self.links)

    async def ask(self, question: HelpRequest) -> str:
        """Return the first answer with its source, or a sentence that nobody knows the answer. Never raises."""
        text = plain(question.text, LONGEST_QUESTION)
        cleaned = replace(question, text=text)
        for link in self.links if text else ():
            try:
                answer = await self._answer(link, cleaned)
            except Exhausted:
                return phrase("help_exhausted", question.lang)
            if answer:
                return phrase(f"help_{link.name}", question.lang, answer=answer)
        return phrase("help_unknown", question.lang)

    async def _answer(self, link: Link, question: HelpRequest) -> str:
        try:
            async with asyncio.timeout(self.timeout):
                return plain(await link.answer(question) or "", LONGEST_ANSWER)
        except Exhausted:
            raise
        except Exception as failure:
            # No traceback: it may quote the question, or an address with a password.
            LOG.warning("help: %s does not answer (%s)", link.name, type(failure).__name__)
            return ""
