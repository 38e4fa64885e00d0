"""A user message on its way into the conversation."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.memory.inbox import InboxEntry
from agents.sources.attachments import Contents
from agents.state.person import Quoted


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A user message on its way in; `text` None asks the assistant to speak first, or to go on."""

    thread: str
    text: str | None
    user: str | None = None
    """The id of the user who wrote it; None if the thread belongs to one user and has that user's id."""
    lang: str | None = None
    """The language to answer in; None leaves it to the thread."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A turn with the same id repeats the stored outcome and does nothing twice."""
    source: str = "message"
    """Where the text comes from, as in `Heard`; `ASR` for one that was spoken."""
    device: str = ""
    """The door through which the user speaks: "terminal", "telegram"."""
    is_group: bool = False
    """Whether others read along: what is the user's alone is then not shown in the thread."""
    name: str = ""
    """What the user is called in a group; anything a user may choose."""
    quoted: Sequence[Quoted] = ()
    """What the message refers to, the files beside it too; a model is told, as data."""
    contents: Contents = field(default_factory=Contents)
    """What those files hold; it is not stored."""

    @property
    def owner(self) -> str:
        """The user whose message this is."""
        return self.user or self.thread

    def entry(self) -> InboxEntry:
        """Return the turn's entry in the inbox."""
        quoted = json.dumps(list(self.quoted), ensure_ascii=False) if self.quoted else None
        return InboxEntry(self.thread, self.id, self.owner, self.text, self.source, quoted=quoted)
