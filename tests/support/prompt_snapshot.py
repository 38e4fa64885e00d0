"""The prompt of each speaker's model before the conversation, as Markdown to be reviewed.

`python -m tests.support.prompt_snapshot` writes it to `tests/prompts/<lang>/<speaker>.md` after a change.
"""

import re
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
from prompts import languages

FOLDER = Path(__file__).parents[1] / "prompts"
NOBODY = Context("-", "-", Script().models(["supervisor"]), zone=ZoneInfo("UTC"))
NOW = re.compile(r"\w* ?\d{4}-\d\d-\d\d.*\d0 ?[(（]\w+[)）]")


def snapshots() -> dict[str, str]:
    """Return the text of every snapshot, by its path below `tests/prompts`."""
    prompting = Prompting(discover()[0])
    speakers = [prompting.speakers.supervisor, *prompting.speakers.dialogs.values()]
    return {
        f"{lang}/{speaker.name}.md": _composed(prompting, speaker, lang) for lang in languages() for speaker in speakers
    }


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


def _composed(prompting: Prompting, speaker: Speaker, lang: str) -> str:
    text = None if speaker.is_supervisor else "…"
    state = State(lang=lang, heard={"id": "1", "text": text, "source": "message"})
    news = prompting.news(speaker, state, NOBODY)
    first, last = in_order(prompting.messages(speaker, state, NOBODY, news))
    tools = "\n".join(_described(tool["function"]) for tool in prompting.tools(speaker, lang))
    parts = ("# Begins with", first.text, "# Tools", tools, "# Ends with", NOW.sub("…", last.text))
    return "\n\n".join(parts) + "\n"


def _described(tool: dict[str, Any]) -> str:
    told = {name: schema["description"] for name, schema in tool["parameters"]["properties"].items()}
    parameters = "".join(f"\n  - {name}: {about}" for name, about in told.items())
    return f"- {tool['name']}: {tool['description']}{parameters}"


if __name__ == "__main__":
    write()
