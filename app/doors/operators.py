"""A chat of operators beside those of users: a door brings its messages, and a plug-in posts and answers there."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from app.assistant import Assistant


@dataclass(frozen=True)
class OperatorWord:
    """An answer to a post, or a tap on its button."""

    post: int
    """The number of the post."""
    door: str
    user: int | None
    """The number of the person; None if the door does not tell it."""
    name: str
    id: str
    """It stays the same if the door brings the word again."""
    text: str = ""
    button: str = ""
    """What the tapped button sends; empty for an answer."""


class PostToOperators(Protocol):
    """Posts to the chat of the operators."""

    async def __call__(self, text: str, button: str = "", label: str = "") -> int:
        """Post a text, perhaps with a button; return the number of the post. What keeps it from that is raised."""


class OperatorChat(ABC):
    """What is posted and answered in the chat while the door is open."""

    @abstractmethod
    async def look(self) -> None:
        """Post what is new; it is called again and again, also after a failure."""

    @abstractmethod
    async def thread_of(self, word: OperatorWord) -> str | None:
        """Return the thread that a word is about; None if the word is about none."""

    @abstractmethod
    def refusal(self, word: OperatorWord) -> str:
        """Return what to tell a person who may not act there; empty for everybody else."""

    @abstractmethod
    async def hear(self, thread: str, word: OperatorWord) -> None:
        """Do what a word says. It may come again after a crash."""


class OperatorChats(ABC):
    """The chat of operators of a plug-in; a service that is found by this type."""

    setting: str
    """The setting that names the chat."""
    chat: int

    @abstractmethod
    def open(self, assistant: "Assistant", post: PostToOperators, lang: str) -> OperatorChat:
        """Return what speaks there, in the operators' language."""
