"""A user message on its way into the conversation: its form, its language, and whether its user may send it."""

import json
import time
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.language.text.stems import letters_of
from agents.memory.inbox import InboxEntry
from agents.sources.attachments import Contents
from agents.state.person import Quoted
from agents.toolkit.questions import ANSWERS


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


HOUR = 3600.0
MOST_USERS = 10_000
"""Users whose turns are remembered; of more, those who have been quiet for an hour are dropped."""


@dataclass
class TurnCount:
    """Admit so many turns of a user within an hour; 0: all of them."""

    most: int
    _turns: dict[str, deque[tuple[float, str]]] = field(default_factory=dict)
    """By user: when each turn was admitted, and its key."""

    def admits(self, user: str, key: str) -> bool:
        """Tell whether a turn may begin, and count it; one that was admitted before is."""
        if not self.most:
            return True
        now = time.monotonic()
        turns = self._turns.setdefault(user, deque())
        while turns and now - turns[0][0] > HOUR:
            turns.popleft()
        if any(admitted == key for _, admitted in turns):
            return True
        if len(turns) >= self.most:
            return False
        turns.append((now, key))
        if len(self._turns) > MOST_USERS:
            self._turns = {name: recent for name, recent in self._turns.items() if now - recent[-1][0] <= HOUR}
        return True


SURE = 4
"""Letters of an alphabet that make a message one of its language."""


@dataclass(frozen=True)
class Languages:
    """Choose the language of a turn."""

    default: str
    names: tuple[str, ...]

    def choose(self, entry: InboxEntry, fixed: str | None, last: str | None) -> str:
        """Return the language that the door or the user has fixed, else that of the message, else the last one."""
        last = last if last in self.names else None
        if fixed in self.names:
            return fixed
        if entry.source in ANSWERS:
            # A label is not what the user writes.
            return last or self.default
        return self.heard(entry.text or "", last or self.default)

    def heard(self, text: str, current: str) -> str:
        """Return the language of a text, as far as its letters show it; letters of the current one change nothing."""
        counts = {lang: letters_of(text, lang) for lang in self.names}
        best = max(self.names, key=counts.__getitem__, default=current)
        return best if not counts.get(current) and counts.get(best, 0) >= SURE else current
