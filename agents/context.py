"""What a turn is given: collaborators and trusted values that no model sees or sets."""

from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from agents.help.chain import HelpChain
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.preferences import machine_zone
from agents.memory.reminders import Reminders
from agents.models import Models
from agents.verdict import Ballot


@dataclass(frozen=True)
class Context:
    """What a turn is given and no model sees or sets."""

    thread: str
    user: str
    models: Models
    ballot: Ballot = field(default_factory=Ballot)
    reminders: Reminders | None = None
    locks: ThreadLocks = field(default_factory=lambda: ThreadLocks(None))
    """Whoever reads and then writes what a user has in long-term memory holds a name of its own here."""
    zone: ZoneInfo = field(default_factory=machine_zone)
    """Where the user lived when the turn began."""
    device: str = ""
    """What the user speaks to: "terminal", "telegram"."""
    permissions: frozenset[str] = frozenset()
    help: HelpChain = field(default_factory=HelpChain)
    ledger: Ledger | None = None
    """What was written; without it nothing keeps a write from being repeated."""
