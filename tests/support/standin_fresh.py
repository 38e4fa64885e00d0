"""Fresh sentences for `local:rules` in eight states of a conversation, and the number of right answers.

`python -m tests.support.standin_fresh` says those of `tests/standin/fresh` and counts; with `--all` it names each
sentence with a wrong answer.
"""

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from langchain_core.messages import AIMessage

from agents.events import Interrupt, Message, ToolStart
from agents.state.message_notes import notes_of
from agents.toolkit.questions.options import CONFIRM
from app.assistant import Turn
from tests.support.standin_table import SIDE_BY_SIDE, TABLES, TODOS, Standin, changes, standin

FRESH = TABLES / "fresh"
LOOKUPS = ("choose_", "ask_", "list_", "assistant_help", "search", "find_tools", "abilities")
"""Name prefixes of tools that answer or look something up, and change nothing."""
YES = {"en": "yes", "ru": "да", "zh": "是"}


@dataclass(frozen=True)
class Sentence:
    """A sentence, the messages before it, its right outcomes, and whether an example covers it."""

    text: str
    before: tuple[str, ...]
    right: tuple[str, ...]
    covered: bool


@dataclass(frozen=True)
class Answer:
    """The outcome of a sentence: tools at once, a question or none, tools after a yes, writes, and the reply."""

    tools: frozenset[str]
    asked: bool
    agreed: frozenset[str]
    wrote: tuple[str, ...]
    unasked: bool
    reply: str


def sentences(lang: str) -> list[Sentence]:
    """Return the sentences of a language."""
    before: tuple[str, ...] = ()
    found: list[Sentence] = []
    for line in (FRESH / f"{lang}.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            before = tuple(part.strip() for part in line.split("|")[1:])
            continue
        text, _, right = line.partition("=>")
        alternatives = tuple(part.strip() for part in right.split("|"))
        found.append(Sentence(text.removeprefix("* ").strip(), before, alternatives, text.startswith("* ")))
    return found


def verdict(said: Sentence, answer: Answer) -> str:
    """Return the verdict on an answer: right, not understood, asked needlessly, wrong, or written unasked."""
    if any(_fits(it, answer) for it in said.right):
        return "right"
    if answer.unasked:
        return "written unasked"
    if answer.asked:
        return "asked needlessly"
    return "wrong" if answer.tools else "not understood"


def _fits(right: str, answer: Answer) -> bool:
    if right == "-":
        return not (answer.tools or answer.asked or answer.wrote)
    if right == "ask":
        return not (answer.asked or answer.wrote) and answer.reply.rstrip().endswith(("?", "？"))
    if right == "undo_last":
        return bool(answer.wrote) and not answer.asked
    tool, _, part = right.removeprefix("?").partition(" ")
    tools = answer.agreed if right.startswith("?") else answer.tools
    is_written = not part or any(part.casefold() in line.casefold() for line in answer.wrote)
    return answer.asked == right.startswith("?") and tools == {tool} and is_written


async def answered(room: Standin, user: str, said: Sentence, lang: str) -> Answer:
    """Say the earlier messages, the sentence, and yes to a confirmation."""
    await room.prepare(user, lang)
    waiting: frozenset[str] = frozenset()
    for text in said.before:
        waiting, _ = await _say(room, user, text, lang)
    stored = await room.stored(user)
    tools, reply = await _say(room, user, said.text, lang)
    wrote = changes(stored, await room.stored(user))
    asked = await _is_unsure(room, user)
    agreed: frozenset[str] = frozenset()
    after = wrote
    if asked:
        agreed, _ = await _say(room, user, YES[lang], lang)
        after = changes(stored, await room.stored(user))
    wanted = {it.removeprefix("?").partition(" ")[0] for it in said.right}
    # A tool with a repeated question has done nothing, nor has one that waits for a confirmation.
    tools -= frozenset() if wrote else waiting - wanted
    unasked = bool(wrote) and (asked or not wanted & {*tools, "undo_last"})
    return Answer(_acting(tools, wanted), asked, _acting(agreed, wanted), tuple(after), unasked, reply)


def _acting(tools: frozenset[str], wanted: set[str]) -> frozenset[str]:
    return frozenset(tool for tool in tools if tool in wanted or not tool.startswith(LOOKUPS))


async def _is_unsure(room: Standin, user: str) -> bool:
    """Tell whether the open question asks about an uncertain call of the model."""
    if await room.asked(user) != CONFIRM:
        return False
    snapshot = await room.assistant.graph.aget_state({"configurable": {"thread_id": user}})
    call = snapshot.values["pending"][0]
    talk = snapshot.values["talks"][call["speaker"]]["messages"]
    replies = (it for it in talk if isinstance(it, AIMessage) and notes_of(it).get("unsure"))
    return call["call"] in {made["id"] for it in replies for made in it.tool_calls}


async def _say(room: Standin, user: str, text: str, lang: str) -> tuple[frozenset[str], str]:
    turn = Turn(thread=user, text=text, lang=lang, device="terminal")
    events = [event async for event in room.assistant.play(turn)]
    lines = [it.text if isinstance(it, Message) else it.prompt for it in events if isinstance(it, Message | Interrupt)]
    return frozenset(event.tool for event in events if isinstance(event, ToolStart)), "\n".join(lines)


async def counted(folder: Path, lang: str) -> tuple[Counter[str], Counter[bool], list[str]]:
    """Say all sentences of a language; return the verdicts, those with an example, and lines on the others."""
    import_module("tests.dialogs.orders.files").fill_with_catalogue(folder / "said.db")
    side_by_side = asyncio.Semaphore(SIDE_BY_SIDE)
    async with standin(folder / "said.db") as room:

        async def answer(number: int, said: Sentence) -> tuple[Sentence, Answer]:
            async with side_by_side:
                return said, await answered(room, f"user{number}", said, lang)

        pairs = await asyncio.gather(*(answer(number, said) for number, said in enumerate(sentences(lang))))
    verdicts = [(said, answer, verdict(said, answer)) for said, answer in pairs]
    lines = [
        f"{verdict}: {' | '.join((*said.before, said.text))} => {' | '.join(said.right)} | {sorted(answer.tools)}"
        f" {list(answer.wrote)} {answer.reply[:80]!r}"
        for said, answer, verdict in verdicts
        if verdict != "right"
    ]
    covered = Counter(verdict == "right" for said, _, verdict in verdicts if said.covered)
    return Counter(verdict for _, _, verdict in verdicts), covered, lines


def report(langs: Sequence[str], *, named: bool) -> None:
    """Print the counts of these languages."""
    for lang in langs:
        with tempfile.TemporaryDirectory() as folder:
            verdicts, covered, lines = asyncio.run(counted(Path(folder), lang))
        shown = ", ".join(f"{name} {number}" for name, number in sorted(verdicts.items()))
        sys.stdout.write(f"{lang}: {verdicts.total()} said, {shown}; covered {covered[True]} of {covered.total()}\n")
        sys.stdout.write("".join(f"    {line}\n" for line in lines) if named else "")


if __name__ == "__main__":
    report([*TODOS], named="--all" in sys.argv)
