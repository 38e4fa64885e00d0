"""The labelled turns of `star_switch`, `sgd_switch` and `massive_switch`, as scenes.

It scores the turns with a service as holder and a certain label.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.conversation.scene import Scene

SETS = ("star_switch", "sgd_switch", "massive_switch")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Row:
    """One scored turn."""

    set: str
    dialog: str
    scene: Scene
    leaves: bool
    """Whether the user wants another service."""


def rows(data: Path, set: str, part: str) -> list[Row]:
    """Return the scored turns of a part ("train", "dev") of a set."""
    services = json.loads((data / set / "services.json").read_text("utf-8"))
    lines = (data / set / f"{part}.jsonl").read_text("utf-8").splitlines()
    return list(_scored(set, map(json.loads, lines), services))


def _scored(set: str, records: Iterator[dict[str, Any]], services: Mapping[str, Any]) -> Iterator[Row]:
    for record in records:
        if record["active"] and "ambiguous" not in record["tags"]:
            yield Row(set, record["dialog"], scene(record, services), record["label"] == "switch")


def scene(record: Mapping[str, Any], services: Mapping[str, Any]) -> Scene:
    """Return a turn as the gate sees it; a service is a dialog."""
    lang, history = record["lang"], record["history"]
    reply = history[-1][1] if history and history[-1][0] == "assistant" else None
    names = {name: described(services[name], lang) for name in record["candidates"]}
    return Scene(
        lang=lang,
        dialog=record["active"],
        description=described(services[record["active"]], lang),
        text=record["text"],
        reply=reply,
        before=[text for _, text in (history if reply is None else history[:-1])],
        paused=record["stack"],
        helpers={name: text for name, text in names.items() if name != record["active"]},
        tools={},
        form={},
        missing=[],
    )


def described(service: Mapping[str, Any], lang: str) -> str:
    """Return the description of a service in one language."""
    texts = [service["name"], service["description"]]
    parts = [text if isinstance(text, str) else text[lang] for text in texts]
    for name, text in service.get("intents", {}).items():
        parts += [_CAMEL.sub(" ", name), text]
    return ". ".join(parts)
