"""Where a Telegram message comes from: its chat and its sender, and their thread and user ids."""

from dataclasses import dataclass

from app.assistant import Turn

DOOR = "telegram"
PREFIX = f"{DOOR}-"


@dataclass(frozen=True)
class Place:
    """A message's chat and number, and who wrote it."""

    chat: int
    message: int = 0
    user: str | None = None
    """The id of the user who wrote it; None in a private chat, whose thread id is also the user id."""
    lang: str | None = None
    """The language of the user's Telegram, if it is one of ours."""
    name: str = ""
    """What the user is called."""

    @property
    def is_group(self) -> bool:
        """Whether others read what is said here; Telegram gives private chats the positive numbers."""
        return self.chat < 0

    @property
    def owner(self) -> str:
        """The user who wrote the message."""
        return self.user or self.thread

    @property
    def thread(self) -> str:
        """The thread of the chat."""
        return f"{PREFIX}{self.chat}"

    def turn(self, text: str | None, *, id: str = "", lang: str | None = None, source: str = "message") -> Turn:
        """Return a turn of this message's user; the same message has the same id unless another one is given."""
        own = id or f"{self.thread}-{self.message}"
        return Turn(
            thread=self.thread,
            text=text,
            user=self.user,
            lang=lang,
            id=own,
            source=source,
            device=DOOR,
            is_group=self.is_group,
            name=self.name,
        )


def chat_of(thread: str) -> int | None:
    """Return the chat of a thread; None for a thread of another door."""
    number = thread.removeprefix(PREFIX)
    is_ours = number != thread and number.removeprefix("-").isdecimal()
    return int(number) if is_ours else None
