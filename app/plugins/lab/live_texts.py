"""Editing of the installation's prompts and cards: drafts, live texts, and the changes with their authors and times."""

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Literal

from agents.toolkit.speaker import Speakers
from app.plugins.lab.agent_file import Agent
from app.plugins.lab.cards import check_card
from app.plugins.lab.folder import LabFolder, named_after
from app.plugins.lab.refusal import LabRefusal
from app.presentation.tool_card import owned_tools, slots
from app.process.files import replace_file
from app.security.audit import Action
from app.yaml_file import FilePart
from prompts import FALLBACK, card_file, files, languages, named, read_anew

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
    """Return the path of a live text, also if there is no text yet. Raises UsageError: there is no such prompt."""
    if kind == "card":
        return card_file(name, lang)
    if not (prompts := files(lang, f"{name}/prompt.md") or _prompt(name)):
        raise LabRefusal("no_prompt", name=name)
    return next(iter(prompts.values())) / lang / name / "prompt.md"


def draft_file(folder: LabFolder, kind: TextKind, name: str, lang: str) -> Path:
    """Return the path of a text's draft; only the lab reads it."""
    return folder.root / f"{kind}s" / lang / f"{name}.md"


def text_of(folder: LabFolder, kind: TextKind, name: str, lang: str) -> str:
    """Return the text to edit: the draft, else the live text."""
    files = draft_file(folder, kind, name, lang), live_file(kind, name, lang)
    return next((path.read_text("utf-8") for path in files if path.is_file()), "")


def check_text(speakers: Speakers, kind: TextKind, name: str, lang: str, text: str) -> None:
    """Check a new text. Raises UsageError: there is no such card or prompt, or the text is not valid."""
    owned = owned_tools(speakers)
    if lang not in languages() or name not in (owned if kind == "card" else editable(speakers)):
        raise LabRefusal("no_text", name=name, lang=lang)
    # A language without a text of its own uses the English one.
    if not text and lang != FALLBACK:
        return
    if kind == "card":
        check_card(text, slots(owned[name]))
    elif not text.strip() or len(text) > LONGEST_PROMPT:
        raise LabRefusal("prompt_length", most=LONGEST_PROMPT)
    # It is filled in as any other prompt.
    elif not (template := Template(text)).is_valid() or template.get_identifiers():
        raise LabRefusal("dollar_sign")


def keep_draft(folder: LabFolder, speakers: Speakers, kind: TextKind, name: str, lang: str, text: str) -> None:
    """Keep a text as a draft; only the lab reads it. Raises UsageError as `check_text`."""
    check_text(speakers, kind, name, lang, text)
    path = draft_file(folder, kind, name, lang)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)


def make_live(
    folder: LabFolder, speakers: Speakers, kind: TextKind, name: str, lang: str, text: str, who: str
) -> TextChange:
    """Make a text live for everybody, note its author, and delete its draft. Raises UsageError as `check_text`."""
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
        raise LabRefusal("unwritable", path=named(path), why=fault.strerror) from fault
    draft_file(folder, kind, name, lang).unlink(missing_ok=True)
    # Other processes look at the folder's time, and must not have read the text before it was replaced.
    (folder.root / "changes").touch()
    read_anew()
    return change


def put_back(folder: LabFolder, speakers: Speakers, change: str, who: str) -> TextChange:
    """Make the text from before a change live again. Raises UsageError: there is no such change."""
    text_change = folder.read("changes", change, TextChange)
    return make_live(folder, speakers, text_change.kind, text_change.name, text_change.lang, text_change.before, who)


def changes_of(folder: LabFolder, kind: TextKind = "card", name: str = "") -> dict[str, TextChange]:
    """Return the changes of a text in all languages, or of all texts, the latest first."""
    every = reversed(folder.every("changes", TextChange).items())
    return {file: change for file, change in every if not name or (change.kind, change.name) == (kind, name)}
