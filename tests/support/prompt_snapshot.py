"""The prompt of each speaker's model before the conversation, as Markdown for reviews.

`python -m tests.support.prompt_snapshot` writes it to `tests/prompts/<lang>/<speaker>.md` after a change.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from agents.conversation.prompt import Prompting
from agents.models.message_order import in_order
from agents.state import State
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker
from app.composition import discover
from app.testing.script import Script
from prompts import languages, prompt

FOLDER = Path(__file__).parents[1] / "prompts"
NOBODY = Context("-", "-", Script().models(["supervisor"]), zone=ZoneInfo("UTC"))
NOW = re.compile(r"\w* ?\d{4}-\d\d-\d\d.*\d0 ?[(（]\w+[)）]")


def snapshots() -> dict[str, str]:
    """Return the text of every snapshot, by its path below `tests/prompts`.

    The common beginning and the common tools of all dialogs stand once, in `dialogs.md`.
    """
    prompting = Prompting(discover()[0])
    return {f"{lang}/{name}.md": text for lang in languages() for name, text in _snapshots_in(prompting, lang).items()}


def _snapshots_in(prompting: Prompting, lang: str) -> dict[str, str]:
    supervisor, dialogs = prompting.speakers.supervisor, prompting.speakers.dialogs
    composed = {name: _composed(prompting, dialog, lang) for name, dialog in dialogs.items()}
    begins = "\n\n".join(prompt(name, lang) for name in ("common", "dialog"))
    tools = [tool for tool in next(iter(composed.values())).tools if all(tool in it.tools for it in composed.values())]
    own = {
        name: Composed(it.begins.removeprefix(begins), [tool for tool in it.tools if tool not in tools], it.ends)
        for name, it in composed.items()
    }
    texts = {"supervisor": _composed(prompting, supervisor, lang), "dialogs": Composed(begins, tools, ""), **own}
    return {name: it.text() for name, it in texts.items()}


def stored() -> dict[str, str]:
    """Return the snapshots on disk, by their paths."""
    return {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in FOLDER.rglob("*.md")}


def write() -> None:
    """Bring the snapshots on disk up to date."""
    fresh = snapshots()
    for gone in stored().keys() - fresh.keys():
        (FOLDER / gone).unlink()
    for name, text in fresh.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@dataclass(frozen=True)
class Composed:
    """A prompt in parts."""

    begins: str
    tools: Sequence[str]
    ends: str

    def text(self) -> str:
        """Return the prompt as Markdown."""
        parts = {"Begins with": self.begins.strip(), "Tools": "\n".join(self.tools), "Ends with": self.ends}
        return "\n\n".join(f"# {title}\n\n{part}" for title, part in parts.items() if part) + "\n"


def _composed(prompting: Prompting, speaker: Speaker, lang: str) -> Composed:
    text = None if speaker.is_supervisor else "…"
    state = State(lang=lang, heard={"id": "1", "text": text, "source": "message"})
    news = prompting.news(speaker, state, NOBODY)
    first, last = in_order(prompting.messages(speaker, state, NOBODY, news))
    tools = [_described(tool["function"]) for tool in prompting.tools(speaker, lang)]
    return Composed(first.text, tools, NOW.sub("…", last.text))


def _described(tool: dict[str, Any]) -> str:
    told = {name: schema["description"] for name, schema in tool["parameters"]["properties"].items()}
    parameters = "".join(f"\n  - {name}: {about}" for name, about in told.items())
    return f"- {tool['name']}: {tool['description']}{parameters}"


if __name__ == "__main__":
    write()
