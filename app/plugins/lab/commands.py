"""`lab`: what a script does with cases, simulated users and sessions of the desk. Everything else is on the pages."""

from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.progress import progress_bar
from app.cli.invocation import Thread
from app.composition import open_assistant
from app.plugins.lab import threads
from app.plugins.lab.desk import ExportForm, sitting
from app.plugins.lab.desk_export import jsonl_of
from app.plugins.lab.desk_session import DeskSession
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.runs import LabRun, RunOrder, run_files, summaries, table_lines
from app.plugins.lab.simulation import SimulationPlan
from app.plugins.lab.simulation import simulate as simulated
from app.plugins.lab.variants import LabVariant
from app.process.exit_codes import FAILED
from app.settings import read_settings
from app.yaml_file import validated

command_line = typer.Typer(name="lab", help="Play conversations as tests.")
desk = typer.Typer(name="desk", help="Sessions in which a person played the model.")
command_line.add_typer(desk)
Model = Annotated[str, typer.Option(help="The model to ask (default: as it is set).")]
Temperature = Annotated[float | None, typer.Option(help="Its temperature.")]


@desk.command()
async def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The session's file in the lab's folder desk.")],
    *,
    form: Annotated[ExportForm, typer.Option(help="Fine-tuning data, or a trace test.")] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="The file to write (default: it is shown).")] = None,
) -> CommandResult:
    """Export a session for fine-tuning, or as a trace test."""
    if form == "jsonl":
        text = jsonl_of(lab_folder().read("desk", name, DeskSession))
    else:
        async with sitting(read_settings(), name) as opened:
            text = await opened.as_test(read_settings().app_lang)
    if output:
        output.write_text(text, "utf-8")
    lines = [str(output)] if output else text.splitlines()
    return CommandResult(lines, lines)


@command_line.command()
async def replay(thread: Thread, *, model: Model = "", temperature: Temperature = None) -> CommandResult:
    """Say the same to another model on an empty database; exit 1 if the trace differs."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        records = await assistant.records(thread)
    turns = await threads.replay(settings, records, _variant(model, temperature))
    differing, lines = [then.trace != now.comparable for then, now in turns], []
    for (then, now), differs in zip(turns, differing, strict=True):
        lines += [f"{'!' if differs else '='} user: {now.text}"]
        lines += [f"  - {line}" for line in then.trace.splitlines() if differs]
        lines += [f"  {'+' if differs else ' '} {line}" for line in now.trace.splitlines()]
    plain = [{"text": now.text, "then": then.trace, "now": now.trace} for then, now in turns]
    return CommandResult(plain, lines, FAILED if any(differing) else 0)


def _variant(model: str, temperature: float | None) -> LabVariant:
    return validated(LabVariant, {"model": model, "parameters": {"temperature": temperature}})


@command_line.command()
async def case(
    thread: Thread, *, turn: Annotated[int, typer.Option(min=0, help="This turn alone, as it began.")] = 0
) -> CommandResult:
    """Keep a thread as a case: what was said, and its trace as what is expected; or one turn, with its calls."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        if turn:
            name = await threads.keep_turn(assistant, settings, thread, turn)
        else:
            name = await threads.keep_case(assistant, settings, thread)
    return CommandResult({"case": name}, [str(lab_folder().path("cases", name))])


@command_line.command()
async def run(
    names: Annotated[list[str], typer.Argument(metavar="CASE", help="Which cases (default: all).")] = [],  # noqa: B006
    *,
    model: Model = "",
    temperature: Temperature = None,
    variant: Annotated[list[str], typer.Option(help="A file of the lab's folder variants; once each.")] = [],  # noqa: B006
    mock: Annotated[list[str], typer.Option(help="A file of the lab's folder mocks; once each.")] = [],  # noqa: B006
    times: Annotated[int, typer.Option(min=1, help="How often each case is played.")] = 1,
    judge: Annotated[str, typer.Option(metavar="MODEL", help="A model that judges, too.")] = "",
) -> CommandResult:
    """Play cases, also with several variants side by side; exit 1 if a check finds something or plays differ."""
    chosen = (
        lab_folder().every("variants", LabVariant, *variant) if variant else {"as set": _variant(model, temperature)}
    )
    order = {"cases": names, "mocks": mock, "variants": chosen, "times": times, "judge": judge}
    with progress_bar() as advance:
        _, finished = await run_files(read_settings(), validated(RunOrder, order), advance)
    is_faulty = finished.differing() or any(result.problems for result in finished.results)
    return CommandResult(_plain(finished), table_lines(finished), FAILED if is_faulty else 0)


def _plain(finished: LabRun) -> dict[str, object]:
    problems = [{"case": it.case, "problems": it.problems} for it in finished.results if it.problems]
    facts = {"begun": finished.begun, "variants": summaries(finished), "differing": finished.differing()}
    return {**facts, "problems": problems}


@command_line.command()
async def simulate(
    names: Annotated[list[str], typer.Argument(metavar="USER", help="Which users (default: all).")] = [],  # noqa: B006
    *,
    talks: Annotated[int, typer.Option(min=1, help="How many talks.")] = 20,
    turns: Annotated[int, typer.Option(min=1, help="The most turns of a talk.")] = 8,
    seed: Annotated[int, typer.Option(help="The same seed, the same scripted users.")] = 0,
    model: Model = "",
    keep: Annotated[bool, typer.Option("--keep", help="Keep each new failure as a case.")] = False,
) -> CommandResult:
    """Let simulated users talk; exit 1 if a talk went wrong."""
    order = {"users": names, "talks": talks, "turns": turns, "seed": seed, "variant": {"model": model}, "keep": keep}
    with progress_bar() as advance:
        simulation = await simulated(read_settings(), validated(SimulationPlan, order), advance)
    return CommandResult(vars(simulation), simulation.lines(), FAILED if simulation.failures else 0)
