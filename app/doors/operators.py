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
    """The id of the word; the same if the door brings the word again."""
    text: str = ""
    button: str = ""
    """The text of the tapped button; empty for an answer."""


class PostToOperators(Protocol):
    """Posts to the chat of the operators."""

    async def __call__(self, text: str, button: str = "", label: str = "") -> int:
        """Post a text, perhaps with a button; return the number of the post. Raises the failure of the door."""


class OperatorChat(ABC):
    """The plug-in's side of the chat while the door is open: its posts, and its answers."""

    @abstractmethod
    async def look(self) -> None:
        """Post the news; the door calls it again and again, also after a failure."""

    @abstractmethod
    async def thread_of(self, word: OperatorWord) -> str | None:
        """Return the thread of a word; None if it concerns none."""

    @abstractmethod
    def refusal(self, word: OperatorWord) -> str:
        """Return the refusal to a person who may not act there; empty for everybody else."""

    @abstractmethod
    async def hear(self, thread: str, word: OperatorWord) -> None:
        """Carry out a word. It may come again after a crash."""


class OperatorChats(ABC):
    """The chat of operators of a plug-in; a service that is found by this type."""

    setting: str
    """The name of the chat's setting."""
    chat: int

    @abstractmethod
    def open(self, assistant: "Assistant", post: PostToOperators, lang: str) -> OperatorChat:
        """Return the plug-in's side of the chat, in the operators' language."""
