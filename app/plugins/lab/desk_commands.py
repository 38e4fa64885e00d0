"""`lab desk`: sessions in which a person plays the model, at the terminal."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.command_line import CommandResult
from agents.conversation.gate import trained_gate
from agents.errors import UsageError
from app.cli.invocation import Lang, OptionalThread, tell
from app.composition import load_thresholds, open_assistant
from app.plugins.lab.cards import cards_of, queries_of, with_examples
from app.plugins.lab.desk import Desk, ExportForm, sitting
from app.plugins.lab.desk_export import jsonl_of
from app.plugins.lab.desk_session import DeskCall, DeskSession, DeskTurn
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.forms import from_json
from app.plugins.lab.lessons import figures, lessons_of, new_examples
from app.plugins.lab.live_texts import live_file, make_live
from app.plugins.lab.threads import desk_from
from app.presentation.listing import table_of
from app.security.audit import login
from app.settings import read_settings
from app.yaml_file import validated

BACK = "/back"
application = typer.Typer(name="desk", help="Play the model yourself; what you do becomes training data and a test.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The session's file in the lab's folder desk.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="Files in the lab's folder desk (default: all).")]


@application.command()
async def show(name: Name) -> CommandResult:
    """Show what the user said, what the person replied, and what came of it."""
    session = lab_folder().read("desk", name, DeskSession)
    lines = []
    for turn in session.turns:
        lines.append(f"user: {turn.user}")
        for reply in turn.replies:
            calls = [f"{call.tool}({json.dumps(dict(call.args), ensure_ascii=False)})" for call in reply.calls]
            lines.append(f"  {reply.role}: {' '.join(filter(None, [reply.text, *calls]))}")
        lines += [f"  | {line}" for line in turn.trace.splitlines()]
    return CommandResult(session.model_dump(mode="json", exclude={"pool", "identifiers"}), lines)


@application.command()
async def export(
    name: Name,
    *,
    form: Annotated[ExportForm, typer.Option(help="Fine-tuning data, or a trace test.")] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="The file to write (default: it is shown).")] = None,
) -> CommandResult:
    """Export a session for fine-tuning, or as a trace test."""
    if form == "jsonl":
        text = jsonl_of(lab_folder().read("desk", name, DeskSession))
    else:
        async with sitting(read_settings(), name) as desk:
            text = await desk.as_test(read_settings().app_lang)
    if output:
        output.write_text(text, "utf-8")
    lines = [str(output)] if output else text.splitlines()
    return CommandResult(lines, lines)


@application.command()
async def teach(
    names: Names = [],  # noqa: B006  # typer makes a list of its own
    *,
    apply: Annotated[bool, typer.Option("--apply", help="Write the examples on the cards that everybody has.")] = False,
) -> CommandResult:
    """Take messages as examples for the tools that the person chose; show what ranker and gate do before and after."""
    lessons = []
    for name in names or lab_folder().names("desk"):
        async with sitting(read_settings(), name) as desk:
            lessons += lessons_of(desk)
    async with open_assistant(read_settings(), remote=False, reads=True) as assistant:
        speakers, gate = assistant.speakers, trained_gate(await load_thresholds(assistant.memory.store))
        rows = figures(speakers, lessons, await queries_of(assistant, lab_folder()), gate)
    new = new_examples(cards_of(speakers), lessons)
    lines = [f"+ {tool} ({lang}): {text}" for (tool, lang), texts in new.items() for text in texts]
    for (tool, lang), texts in new.items() if apply else ():
        path = live_file("card", tool, lang)
        text = with_examples(path.read_text("utf-8") if path.exists() else "", texts)
        make_live(lab_folder(), speakers, "card", tool, lang, text, login())
    return CommandResult({"examples": lines, "figures": rows}, [*lines, *table_of(rows)])


@application.command()
async def play(
    name: Name,
    *,
    lang: Lang = None,
    thread: OptionalThread = None,
    turn: Annotated[int, typer.Option(min=1, help="The kept turn of --thread with which a new session begins.")] = 1,
) -> CommandResult:
    """Play a session line by line, or begin one; an empty line ends it.

    As the model write an answer, or calls as `TOOL {"argument": 1}` behind a `/`, several behind several; `/back` takes
    the last step back.
    """
    folder = lab_folder()
    if name not in folder.names("desk"):
        session = DeskSession(lang=lang or read_settings().app_lang)
        if thread:
            async with open_assistant(read_settings(), remote=False, reads=True) as assistant:
                session = await desk_from(assistant, thread, turn)
        folder.write("desk", name, session)
    async with sitting(read_settings(), name) as desk:
        shown = 0
        while line := await _typed(desk, shown):
            shown = len(desk.wanted.messages) if desk.wanted and line != BACK else 0
            try:
                await _take(desk, line)
            except UsageError as fault:
                tell(f"! {fault.told(read_settings().app_lang)}")
        turns = len(desk.session.turns)
    return CommandResult({"session": name, "turns": turns}, [str(folder.path("desk", name))])


async def _take(desk: Desk, line: str) -> None:
    """Carry out a line: a step back, a reply or a message. Raises UsageError: it is not possible now."""
    if line == BACK:
        steps = sum(1 + len(turn.replies) for turn in desk.session.turns)
        await desk.back(read_settings(), steps - 1)
    elif desk.wanted:
        text, *calls = f" {line}".split(" /")
        await desk.reply(text.strip(), [_read(call) for call in calls])
    else:
        desk.say(line)


async def _typed(desk: Desk, shown: int) -> str:
    """Show the new messages of a session and its open call or question, and return the next line."""
    await desk.settle()
    if wanted := desk.wanted:
        for message in wanted.messages[shown:]:
            tell(_written(message))
        tell(f"Tools: {', '.join(tool['function']['name'] for tool in wanted.tools)}")
    elif desk.session.turns:
        tell(_ended(desk.session.turns[-1]))
    sys.stderr.write(f"{wanted.role if wanted else 'user'}> ")
    sys.stderr.flush()
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


def _written(message: Mapping[str, Any]) -> str:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = [f"{function['name']}({function['arguments']})" for function in functions]
    return f"[{message['role']}] {' '.join([str(message.get('content') or ''), *calls]).strip()}"


def _ended(turn: DeskTurn) -> str:
    return "\n".join(filter(None, [turn.answer, turn.question, " | ".join(turn.options)]))


def _read(call: str) -> DeskCall:
    tool, _, arguments = call.partition(" ")
    return validated(DeskCall, {"tool": tool, "args": from_json(arguments.strip() or "{}", tool)}, tool)
