"""Prompts and cards of the installation that are edited: drafts, what everybody has, and who changed what and when."""

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Literal

from agents.errors import UsageError
from agents.toolkit.speaker import Speakers
from app.agent_file import Agent
from app.plugins.lab.folder import LabFolder, named_after
from app.presentation.tool_card import owned_tools, slots, text_faults
from app.process.files import replace_file
from app.security.audit import Action
from app.yaml_file import FilePart
from prompts import FALLBACK, card_file, files, languages, read_anew

LONGEST_PROMPT = 20_000
TextKind = Literal["card", "prompt"]
"""The card of a tool, or the prompt of a dialog."""
CHANGED: Mapping[TextKind, Action] = {"card": "card_changed", "prompt": "prompt_changed"}


class TextChange(FilePart):
    """A text that somebody has made live: a file of the lab's folder `changes`."""

    kind: TextKind
    name: str
    lang: str
    who: str
    at: str
    before: str
    after: str

    @property
    def lines(self) -> list[str]:
        """The lines that changed, with `-` and `+`."""
        return [*difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=1)][2:]


def editable(speakers: Speakers) -> list[str]:
    """Return the dialogs whose prompt is a file of its own; an agent of the lab has its form."""
    dialogs = speakers.dialogs.values()
    return [it.name for it in dialogs if not (isinstance(it, Agent) or it.agent or it.roles) and _prompt(it.name)]


def _prompt(dialog: str) -> Mapping[Path, Path]:
    return files(FALLBACK, f"{dialog}/prompt.md")


def live_file(kind: TextKind, name: str, lang: str) -> Path:
    """Return where the text stands that everybody has, or would stand. Raises UsageError: there is no such prompt."""
    if kind == "card":
        return card_file(name, lang)
    if not (found := files(lang, f"{name}/prompt.md") or _prompt(name)):
        raise UsageError(f"there is no prompt {name!r}")
    return next(iter(found.values())) / lang / name / "prompt.md"


def draft_file(folder: LabFolder, kind: TextKind, name: str, lang: str) -> Path:
    """Return where the draft of a text stands; nobody but the lab reads it."""
    return folder.root / f"{kind}s" / lang / f"{name}.md"


def text_of(folder: LabFolder, kind: TextKind, name: str, lang: str) -> str:
    """Return a text as it is edited: the draft, else what everybody has."""
    files = draft_file(folder, kind, name, lang), live_file(kind, name, lang)
    return next((path.read_text("utf-8") for path in files if path.is_file()), "")


def check_text(speakers: Speakers, kind: TextKind, name: str, lang: str, text: str) -> None:
    """Check a text that is to be kept. Raises UsageError: there is no such one, or this is none."""
    owned = owned_tools(speakers)
    if lang not in languages() or name not in (owned if kind == "card" else editable(speakers)):
        raise UsageError(f"there is no {kind} {name!r} in {lang!r}")
    # Without a text of its own a language has the English one.
    is_left_out = not text and lang != FALLBACK
    faults = text_faults(text, slots(owned[name])) if kind == "card" else _prompt_faults(text)
    if faults and not is_left_out:
        raise UsageError(faults[0])


def _prompt_faults(text: str) -> list[str]:
    template = Template(text)
    if not text.strip() or len(text) > LONGEST_PROMPT:
        return [f"a prompt has 1 to {LONGEST_PROMPT} characters"]
    # It is filled in as any other prompt.
    return [] if template.is_valid() and not template.get_identifiers() else ["write $$ for a dollar sign"]


def keep_draft(folder: LabFolder, speakers: Speakers, kind: TextKind, name: str, lang: str, text: str) -> None:
    """Keep a text where nobody but the lab reads it. Raises UsageError as `check_text`."""
    check_text(speakers, kind, name, lang, text)
    path = draft_file(folder, kind, name, lang)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)


def make_live(
    folder: LabFolder, speakers: Speakers, kind: TextKind, name: str, lang: str, text: str, who: str
) -> TextChange:
    """Let everybody have a text, and note who changed it; its draft goes. Raises UsageError as `check_text`."""
    check_text(speakers, kind, name, lang, text)
    path, now = live_file(kind, name, lang), datetime.now(UTC).isoformat(timespec="seconds")
    before = path.read_text("utf-8") if path.is_file() else ""
    change = TextChange(kind=kind, name=name, lang=lang, who=who, at=now, before=before, after=text)
    noted = folder.add("changes", named_after(f"{now.partition('+')[0]} {name}"), change)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text) if text else path.unlink(missing_ok=True)
    except OSError as fault:
        folder.delete("changes", noted)
        raise UsageError(f"{path} cannot be written: {fault.strerror}") from fault
    draft_file(folder, kind, name, lang).unlink(missing_ok=True)
    read_anew()
    return change


def put_back(folder: LabFolder, speakers: Speakers, change: str, who: str) -> TextChange:
    """Let everybody have the text from before a change. Raises UsageError: there is no such change."""
    kept = folder.read("changes", change, TextChange)
    return make_live(folder, speakers, kept.kind, kept.name, kept.lang, kept.before, who)


def changes_of(folder: LabFolder, kind: TextKind = "card", name: str = "") -> dict[str, TextChange]:
    """Return the changes of a text in all languages, or of all texts, the latest first."""
    every = reversed(folder.every("changes", TextChange).items())
    return {file: change for file, change in every if not name or (change.kind, change.name) == (kind, name)}
