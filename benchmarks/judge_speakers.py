"""The dialogs and tools of a labelled set, and their prompts beside ours."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from langchain_core.tools import BaseTool, StructuredTool

import prompts
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speaker, Speakers
from app.composition import discover
from benchmarks.judge_cases import WISHES
from benchmarks.switch_data import described
from benchmarks.tools import SETS as TOOLS
from benchmarks.tools import cards

OBSERVERS = ("supervisor", "finished")
"""The default observers of a dialog."""
_ROLE = {
    "en": "You are the specialist for this subject: {about}\n\nThis is a rehearsal: nothing is looked up or booked. "
    "Answer in one short sentence, and ask for what is missing.",
    "ru": "Ты специалист по этой теме: {about}\n\nЭто репетиция: ничего не ищется и не заказывается. "
    "Отвечай одним коротким предложением и спрашивай, чего не хватает.",
}


def speakers_of(data: Path, name: str, candidates: Sequence[str]) -> Speakers:
    """Return the speakers of a set: its services as dialogs, its tools as the supervisor's, or our own."""
    if name == WISHES:
        return discover()[0]
    if name in TOOLS:
        return Speakers(Speaker(name=SUPERVISOR, tools=[_tool(card.name) for card in cards(data / name)]))
    services = _services(data / name)
    dialogs = {
        service: Speaker(
            name=service,
            tool=entry_tool(service),
            description=described(services[service], "en"),
            observers=OBSERVERS,
        )
        for service in candidates
    }
    return Speakers(Speaker(name=SUPERVISOR), dialogs)


def prompt_files(data: Path, name: str) -> dict[str, str]:
    """Return the prompt files of a set's dialogs or tools, by their place in `prompts/`."""
    if name == WISHES:
        return {}
    if name in TOOLS:
        return {
            f"{lang}/cards/{card.name}.md": "\n".join(
                [text, *(f"- {phrase}" for phrase in card.examples.get(lang, ()))]
            )
            for card in cards(data / name)
            for lang, text in card.descriptions.items()
        }
    files = {}
    for service, about in _services(data / name).items():
        for lang in _ROLE if isinstance(about["name"], dict) else ("en",):
            text = described(about, lang)
            files[f"{lang}/{service}/prompt.md"] = _ROLE[lang].format(about=text)
            files[f"{lang}/cards/{entry_tool(service)}.md"] = text
    return files


@contextmanager
def prompts_with(files: Mapping[str, str]) -> Iterator[None]:
    """Add these prompt files to the application's own during a block."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(prompts.FOLDER, Path(folder) / "prompts"))
        for name, text in files.items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(text, "utf-8")
        with patch.object(prompts, "FOLDER", copy):
            _forget_prompts()
            yield
        _forget_prompts()


def entry_tool(service: str) -> str:
    """Return the name of the tool by which the supervisor hands over to a service."""
    return f"begin_{service.lower()}"


def _forget_prompts() -> None:
    # Two sets may give a service of one name different texts.
    prompts.read_anew()


def _services(folder: Path) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = json.loads((folder / "services.json").read_text("utf-8"))
    return services


def _tool(name: str) -> BaseTool:
    async def work(request: str) -> str:
        return f"{name}: done"

    about = f"{name.replace('_', ' ')}. request: what the user wants of it, in their words."
    return StructuredTool.from_function(coroutine=work, name=name, description=about)
