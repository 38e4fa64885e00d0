"""The labelled turns that `judge` plays: changes of subject, and wishes that tools fulfil."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agents.errors import ConfigError
from agents.state import SUPERVISOR
from benchmarks.switch_data import SETS as SWITCHES
from benchmarks.tools import NONE
from benchmarks.tools import SETS as TOOLS

WISHES = "wishes"
"""The set of labelled conversations with our own dialogs, `judge_wishes.toml`."""
SETS = (*SWITCHES, *TOOLS, WISHES)
Histories = Mapping[str, Sequence[AnyMessage]]


@dataclass(frozen=True)
class Case:
    """One labelled turn."""

    id: str
    set: str
    kind: str
    """The subject of the judgement: "switch", "tool", "correction", "two wishes"."""
    lang: str
    text: str
    """The user's message."""

    @property
    def expected(self) -> str:
        """The right outcome of the turn, in a word or two."""
        raise NotImplementedError


@dataclass(frozen=True)
class SwitchCase(Case):
    """A turn while a dialog holds the conversation; the conversation so far is the recorded one."""

    label: str
    """"stay", "switch" or "none" (for nobody: a farewell, small talk)."""
    active: str
    target: str | None
    closing: bool
    paused: Sequence[str]
    histories: Histories
    """The messages of each speaker's history."""

    @property
    def expected(self) -> str:
        """The dialog to switch to, or the label."""
        return self.target or self.label


@dataclass(frozen=True)
class Want:
    """A call that a turn wants."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    """Required arguments; other arguments may come too."""
    others: Sequence[str] = ()
    """Tools that do as well."""
    words: Sequence[str] = ()
    """Words that the arguments must contain, in small letters; "ten|10": one of these."""

    def is_met(self, tool: str, args: Mapping[str, object]) -> bool:
        """Tell whether a call fulfils the want."""
        text = json.dumps(args, ensure_ascii=False).casefold()
        has_words = all(any(word in text for word in words.split("|")) for words in self.words)
        return tool in (self.tool, *self.others) and has_words


@dataclass(frozen=True)
class WishCase(Case):
    """A turn that wants calls of tools."""

    wants: Sequence[Want] = ()

    @property
    def expected(self) -> str:
        """The wanted tools."""
        return " ".join(want.tool for want in self.wants)


@dataclass(frozen=True)
class Talk:
    """Turns that are played one after the other in one thread."""

    id: str
    candidates: Sequence[str]
    """The dialogs on offer, where the set has its own."""
    cases: Sequence[Case] = field(default_factory=list)


def sets_in(data: Path) -> list[str]:
    """Return the sets that a folder holds; our own wishes are always there."""
    return [name for name in SETS if name == WISHES or (data / name).is_dir()]


def talks_of(data: Path, name: str, part: str, limit: int | None) -> list[Talk]:
    """Return the labelled conversations of a set, with at most `limit` turns of each language and kind.

    Raises:
        ConfigError: a file of the set is missing or broken.
    """
    try:
        if name == WISHES:
            talks = list(_wishes(Path(__file__).with_name("judge_wishes.toml")))
        elif name in SWITCHES:
            talks = list(_switches(data / name, part))
        else:
            talks = list(_requests(data / name, part))
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise ConfigError(f"{data / name} cannot be read: {type(broken).__name__}: {broken}") from None
    return list(_limited(talks, limit))


def _switches(folder: Path, part: str) -> Iterator[Talk]:
    rows = [json.loads(line) for line in (folder / f"{part}.jsonl").read_text("utf-8").splitlines()]
    together: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        together.setdefault(row["dialog"], []).append(row)
    for dialog, turns in together.items():
        yield Talk(f"{folder.name}-{dialog}", turns[0]["candidates"], list(_scored(folder.name, turns)))


def _scored(name: str, turns: Sequence[Mapping[str, Any]]) -> Iterator[Case]:
    """Yield the scored turns of a conversation, each with the recorded messages before it."""
    histories: dict[str, list[AnyMessage]] = {}
    for place, turn in enumerate(turns):
        if turn["active"] and "ambiguous" not in turn["tags"]:
            yield SwitchCase(
                id=turn["id"],
                set=name,
                kind="switch",
                lang=turn["lang"],
                text=turn["text"],
                label=turn["label"],
                active=turn["active"],
                target=turn["target"],
                closing="closing" in turn["tags"],
                paused=turn["stack"],
                histories={speaker: list(messages) for speaker, messages in histories.items()},
            )
        heard_by = histories.setdefault(turn["target"] or turn["active"] or SUPERVISOR, [])
        heard_by.append(HumanMessage(turn["text"], id=turn["id"]))
        following = turns[place + 1]["history"] if place + 1 < len(turns) else []
        if following and following[-1][0] == "assistant":
            heard_by.append(AIMessage(following[-1][1]))


def _requests(folder: Path, part: str) -> Iterator[Talk]:
    for line in (folder / f"{part}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        wants = [] if row["label"] == NONE else [Want(row["label"], {"request": row["text"]})]
        case = WishCase(id=row["id"], set=folder.name, kind="tool", lang=row["lang"], text=row["text"], wants=wants)
        yield Talk(row["id"], (), [case])


def _wishes(file: Path) -> Iterator[Talk]:
    for number, talk in enumerate(tomllib.loads(file.read_text("utf-8"))["talk"], 1):
        id = f"{WISHES}-{number}"
        yield Talk(
            id,
            (),
            [
                WishCase(
                    id=f"{id}-{place}",
                    set=WISHES,
                    kind=turn["kind"],
                    lang=talk["lang"],
                    text=turn["says"],
                    wants=[_want(want) for want in turn["wants"]],
                )
                for place, turn in enumerate(talk["turn"])
            ],
        )


def _want(entry: Mapping[str, Any]) -> Want:
    return Want(entry["tool"], entry["args"], entry.get("or", ()), entry.get("words", ()))


def _limited(talks: Sequence[Talk], limit: int | None) -> Iterator[Talk]:
    """Yield whole conversations, then the turns that fit; a turn left out ends its conversation."""
    counts = Counter[tuple[str, str]]()
    for talk in talks:
        cases = []
        for case in talk.cases:
            if limit is not None and counts[case.lang, case.kind] >= limit:
                break
            counts[case.lang, case.kind] += 1
            cases.append(case)
        if cases:
            yield Talk(talk.id, talk.candidates, cases)
