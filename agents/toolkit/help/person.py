"""A person as the last link: the question is written down, and whoever runs the application is told of it."""

from dataclasses import dataclass

from agents.memory.notes import Notes
from agents.toolkit.help import Exhausted, HelpRequest


@dataclass(frozen=True)
class Person:
    """Leave a note; doors deliver it."""

    name = "person"
    notes: Notes
    most: int
    """Notes that a user may leave within a day."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return what was noted.

        Raises:
            Exhausted: the user has left too many notes today.
        """
        user = question.user or question.thread
        if not await self.notes.add(question.thread, question.text, question.key, user, self.most):
            raise Exhausted
        return question.text
