"""The next version of the application: a copy with changes in its texts, its tables and its events."""

from collections.abc import Sequence
from pathlib import Path

from tests.support.checkout import check_out

CHANGES: Sequence[tuple[str, str, str]] = (
    # Another wording of an answer shows which version gave it.
    (
        "prompts/en/planner/phrases.toml",
        'reminder_set = "Set: $reminder."',
        'reminder_set = "Written down: $reminder."',
    ),
    # A running dialog has another version, another prompt and one more field.
    ("dialogs/profile/__init__.py", "    remember=True,\n", "    remember=True,\n    version=2,\n"),
    (
        "dialogs/profile/__init__.py",
        "    work: str | None",
        '    motto: str | None = Field(default=None, description="Their motto.", json_schema_extra=UNASKED)\n'
        "    work: str | None",
    ),
    # An event has one more field, and one kind of event is unknown here.
    ("agents/events/__init__.py", '    held_by: str = ""\n', '    held_by: str = ""\n    mood: str = "calm"\n'),
    (
        "agents/events/__init__.py",
        'class Observed(Event, type="observed"):',
        'class Mood(Event, type="mood"):\n    """How the user feels."""\n\n\nclass Observed(Event, type="observed"):',
    ),
    (
        "app/assistant/turn_player.py",
        "            for event in (_start(entry), ",
        "            for event in (_start(entry), Mood(), ",
    ),
    (
        "app/assistant/turn_player.py",
        "from agents.events import REBUILT, ",
        "from agents.events import REBUILT, Mood, ",
    ),
    # Its turns have a field more.
    ("app/assistant/turn.py", "    is_group: bool = False\n", '    is_group: bool = False\n    tone: str = "warm"\n'),
    # A table has a column more.
    (
        "app/plugins/audit/log.py",
        '(at_ms)""",\n    },',
        '(at_ms)""",\n        "add_place": "ALTER TABLE audit ADD COLUMN place TEXT",\n    },',
    ),
)
"""The file, its text, and the text of the next version."""


def next_version(folder: Path) -> None:
    """Write the next version into a folder."""
    check_out(folder)
    for name, present, coming in CHANGES:
        text = (folder / name).read_text("utf-8")
        assert text.count(present) == 1, (name, present)
        (folder / name).write_text(text.replace(present, coming), "utf-8")
