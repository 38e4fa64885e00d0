"""`lab`: the lab's actions, without its pages."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult, name_given
from agents.memory.inbox import ThreadInfo
from agents.progress import progress_bar
from agents.toolkit.speaker import Speakers
from app.assistant.recording import Record
from app.cli.invocation import Thread, given_text, language_given
from app.composition import discover_checked, open_assistant, open_parts
from app.plugins.lab import desk_commands, threads
from app.plugins.lab.agent_file import read_agent
from app.plugins.lab.agents import Workshop
from app.plugins.lab.cards import effect, queries_of
from app.plugins.lab.case_table import MODELS, Sheet, check_file, csv_of, keep_table, read_csv
from app.plugins.lab.cases import Case, ExpectedCall
from app.plugins.lab.folder import Kind, lab_folder, written
from app.plugins.lab.forms import from_json
from app.plugins.lab.kinds import KINDS
from app.plugins.lab.live_texts import CHANGED, TextKind, changes_of, check_text, keep_draft, make_live, text_of
from app.plugins.lab.live_texts import put_back as put_text_back
from app.plugins.lab.mocks import Mock
from app.plugins.lab.played_turn import play
from app.plugins.lab.reasons import worded
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.runs import (
    LabRun,
    RunOrder,
    Verdict,
    judge_result,
    latest,
    run_files,
    summaries,
    table_lines,
    trend_lines,
)
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan
from app.plugins.lab.simulation import simulate as simulated
from app.plugins.lab.thread_search import ThreadQuery, ThreadSearch
from app.plugins.lab.turn_notes import TurnNote
from app.plugins.lab.turn_notes import note as keep_note
from app.plugins.lab.variants import LabVariant
from app.presentation.listing import columns, first_line, moment, state_lines, table_of
from app.process.exit_codes import FAILED
from app.security.audit import Action, login
from app.security.audit import deed as audited
from app.settings import Settings, read_settings
from app.yaml_file import parsed, validated
from prompts import FALLBACK

command_line = typer.Typer(name="lab", help="Look, try, judge, teach.")
agents = typer.Typer(name="agent", help="Agents put together from tools, mocks, prompts and a model.")
command_line.add_typer(agents)
command_line.add_typer(desk_commands.application)
RunName = Annotated[str, typer.Argument(help="The run's file in the lab's folder runs.")]
Model = Annotated[str, typer.Option(help="The model to ask (default: as it is set).")]
Temperature = Annotated[float | None, typer.Option(help="Its temperature.")]


@command_line.command()
async def thread(
    thread: Thread,
    *,
    turn: Annotated[int, typer.Option(min=0, help="Show the state at the end of this turn (default: now).")] = 0,
) -> CommandResult:
    """Show a thread's state, and its turns with verdicts, reasons and calls of tools."""
    async with open_assistant(read_settings(), remote=False, reads=True) as assistant:
        now, turns = await threads.view(assistant, thread)
        state = await assistant.state_after(thread, turn) if turn else now
    if state is None:
        raise LabRefusal("turn_not_kept", turn=turn)
    lines = state_lines(state) if state else []
    for view in turns:
        lines += ["", f"{view.number}. {view.text or '-'}", *(f"   {line}" for line, _ in view.steps)]
        lines += [f"   {rating.sign} {rating.user} {rating.word}".rstrip() for rating in view.ratings]
        lines += [f"   # {', '.join(view.note.labels)} {view.note.text}".rstrip()] if view.note != TurnNote() else []
        lines += [
            f"   ? {made.observer} ({made.by}): {worded(made, FALLBACK)}" for made in view.decisions if made.reason
        ]
        lines += [f"   [{source.number}] {source.title} {source.place}".rstrip() for source in view.sources]
    return CommandResult({"thread": thread, "state": state, "turns": [view.plain() for view in turns]}, lines)


@command_line.command()
async def find(
    *,
    words: Annotated[str, typer.Option(help="A piece of what was said, or of the thread's name.")] = "",
    user: Annotated[str, typer.Option(help="A piece of the name of who wrote last.")] = "",
    tool: Annotated[str, typer.Option(help="A tool that was called.")] = "",
    verdict: Annotated[str, typer.Option(help="A decision on who holds the conversation.")] = "",
    lang: Annotated[str, typer.Option(help="The language of a turn.")] = "",
    trouble: Annotated[bool, typer.Option("--trouble", help="Something went wrong, or the tool has failed.")] = False,
    label: Annotated[str, typer.Option(help="A label of a note.")] = "",
    rating: Annotated[str, typer.Option(help="What users think: up or down.")] = "",
    calls: Annotated[int, typer.Option(min=0, help="Calls of models in all turns, at least.")] = 0,
    tokens: Annotated[int, typer.Option(min=0, help="Tokens in all turns, at least.")] = 0,
) -> CommandResult:
    """Find threads, the latest first."""
    asked = {"words": words, "user": user, "tool": tool, "verdict": verdict, "lang": lang, "trouble": trouble}
    query = validated(ThreadQuery, {**asked, "label": label, "rating": rating, "calls": calls, "tokens": tokens})
    infos = list[ThreadInfo]()
    async with open_assistant(read_settings(), remote=False, reads=True) as assistant:
        page = await ThreadSearch(assistant, query).page()
        infos += page.rows
        while page.next is not None:
            page = await ThreadSearch(assistant, query.model_copy(update={"before": page.next})).page()
            infos += page.rows
    rows = [(info.thread, info.user, info.turns, moment(info.active_ms), first_line(info)) for info in infos]
    return CommandResult([vars(info) for info in infos], columns(rows) if rows else [])


@command_line.command()
async def note(
    text: Annotated[str, typer.Argument(help="What to note; empty, and without labels: nothing more.")] = "",
    *,
    thread: Thread,
    turn: Annotated[int, typer.Option(min=1, help="Which turn.")],
    label: Annotated[list[str], typer.Option(help="A label; once each.")] = [],  # noqa: B006  # typer's own list
) -> CommandResult:
    """Keep a note and labels of a turn."""
    noted = validated(TurnNote, {"text": text, "labels": label, "by": login()})
    async with open_assistant(read_settings(), remote=False) as assistant:
        _, turns = await threads.view(assistant, thread)
        if not (ids := [view.id for view in turns if view.number == turn]):
            raise LabRefusal("no_turn", thread=thread, turn=turn)
        await keep_note(assistant.memory.store, thread, ids[-1], noted)
    return CommandResult({"thread": thread, "turn": turn, **noted.model_dump(mode="json")}, [])


@command_line.command()
async def replay(thread: Thread, *, model: Model = "", temperature: Temperature = None) -> CommandResult:
    """Say the same to another model on an empty database; exit 1 if the trace differs."""
    settings = read_settings()
    turns = await threads.replay(settings, await _records(settings, thread), _variant(model, temperature))
    differing, lines = [then.trace != now.comparable for then, now in turns], []
    for (then, now), differs in zip(turns, differing, strict=True):
        lines += [f"{'!' if differs else '='} user: {now.text}"]
        lines += [f"  - {line}" for line in then.trace.splitlines() if differs]
        lines += [f"  {'+' if differs else ' '} {line}" for line in now.trace.splitlines()]
    plain = [{"text": now.text, "then": then.trace, "now": now.trace} for then, now in turns]
    return CommandResult(plain, lines, FAILED if any(differing) else 0)


async def _records(settings: Settings, thread: str) -> list[Record]:
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        return await assistant.records(thread)


def _variant(model: str, temperature: float | None) -> LabVariant:
    return validated(LabVariant, {"model": model, "parameters": {"temperature": temperature}})


KindOfFile = Annotated[Kind, typer.Argument(help="Which folder of the lab's.")]
FileName = Annotated[str, typer.Argument(help="The file's, without .yaml.")]
GivenFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The file to take.")]


@command_line.command("list")
async def list_files(kind: KindOfFile) -> CommandResult:
    """List the files of a kind, each with its first line."""
    every = {name: written(part).partition("\n")[0] for name, part in lab_folder().every(kind, KINDS[kind]).items()}
    return CommandResult(every, columns(every.items()) if every else [])


def _speakers_and_mocks() -> tuple[Speakers, Collection[Mock]]:
    """Return the speakers and the mocks whose names a case may have."""
    return discover_checked(read_settings())[0], lab_folder().every("mocks", Mock).values()


@command_line.command()
async def save(kind: KindOfFile, name: FileName, file: GivenFile) -> CommandResult:
    """Keep a YAML file in the lab's folder, once it is found to be sound."""
    part = parsed(given_text(file), KINDS[kind], str(file))
    if isinstance(part, Case | SimulatedUser):
        check_file("users" if kind == "users" else "cases", part, *_speakers_and_mocks())
    path = lab_folder().write(kind, name, part)
    return CommandResult({kind: name}, [str(path)])


@command_line.command()
async def delete(kind: KindOfFile, name: FileName) -> CommandResult:
    """Delete a file of the lab's folder."""
    lab_folder().delete(kind, name)
    return CommandResult({kind: name}, [])


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
async def table(
    file: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help="A CSV file to take.")] = None,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is there already.")] = False,
    users: Annotated[bool, typer.Option("--users", help="Simulated users in place of cases.")] = False,
) -> CommandResult:
    """Print all cases as CSV, or take the cases of a CSV file: all of them, or none."""
    sheet: Sheet = "users" if users else "cases"
    if file is None:
        text = csv_of(sheet, lab_folder().every(sheet, MODELS[sheet]))
        return CommandResult({"csv": text}, text.splitlines())
    rows, (speakers, mocks) = read_csv(sheet, given_text(file).encode()), _speakers_and_mocks()
    names = keep_table(lab_folder(), speakers, sheet, rows, mocks, replace=replace)
    return CommandResult({sheet: names}, names)


@command_line.command()
async def record(
    thread: Thread,
    *,
    tool: Annotated[list[str], typer.Option(help="Which tools (default: all).")] = [],  # noqa: B006  # typer's own list
) -> CommandResult:
    """Keep what tools answered in a thread as mocks, by their arguments."""
    settings = read_settings()
    names = threads.keep_mocks(settings, await _records(settings, thread), tool)
    return CommandResult({"mocks": names}, names)


@command_line.command()
async def mock(
    name: FileName,
    arguments: Annotated[str, typer.Argument(help="The arguments of a call, as JSON.")] = "{}",
) -> CommandResult:
    """Show what a mock answers to a call."""
    kept = lab_folder().read("mocks", name, Mock)
    call = validated(ExpectedCall, {"tool": kept.tool, "args": from_json(arguments, "arguments")})
    outcome = kept.outcome(call.args)
    plain = outcome.model_dump(mode="json") if outcome else {"otherwise": kept.otherwise}
    return CommandResult(plain, [kept.how(call.args)])


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
    return _outcome(finished, FAILED if is_faulty else 0)


@command_line.command()
async def outcome(run: RunName) -> CommandResult:
    """Show what came of a run."""
    return _outcome(lab_folder().read("runs", run, LabRun), 0)


@command_line.command()
async def trend() -> CommandResult:
    """Show how many plays, and turns of each dialog, were good in the latest runs, oldest first."""
    lines = trend_lines(latest(lab_folder()))
    return CommandResult(lines, table_of(lines) if lines else [])


@command_line.command()
async def verdict(
    run: RunName,
    place: Annotated[int, typer.Argument(min=0, help="Which result, from 0.")],
    verdict: Annotated[Verdict, typer.Argument(help="What you think of it.")],
) -> CommandResult:
    """Judge a result of a run; then show how far the judges agree."""
    judge_result(lab_folder(), run, place, verdict)
    return _outcome(lab_folder().read("runs", run, LabRun), 0)


def _outcome(finished: LabRun, exit_code: int) -> CommandResult:
    plain = {"begun": finished.begun, "variants": summaries(finished), "differing": finished.differing()}
    faulty = [result for result in finished.results if result.problems]
    plain["problems"] = [{"case": result.case, "problems": result.problems} for result in faulty]
    return CommandResult(plain, table_lines(finished), exit_code)


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


TextFile = Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help="Default: the page's draft.")]
AsDraft = Annotated[bool, typer.Option("--draft", help="Keep it as the page's draft.")]
ForEverybody = Annotated[bool, typer.Option("--apply", help="Let everybody have it.")]


@command_line.command()
async def card(
    tool: Annotated[str, typer.Argument(help="Whose card.")],
    file: TextFile = None,
    *,
    lang: Annotated[str, typer.Option(callback=language_given, help="The card's language.")] = FALLBACK,
    draft: AsDraft = False,
    apply: ForEverybody = False,
) -> CommandResult:
    """Show which requests find a tool with another card, and which no longer do; exit 1 if some are lost."""
    folder = lab_folder()
    text = given_text(file) if file else text_of(folder, "card", tool, lang)
    async with open_assistant(read_settings(), remote=False, reads=True) as assistant:
        shown = effect(assistant.speakers, tool, lang, text, await queries_of(assistant, folder))
    await _keep(assistant.speakers, "card", tool, lang, text, draft=draft, apply=apply)
    groups = {name: [query.text for query in queries] for name, queries in shown.items()}
    lines = [f"{sign} {query}" for sign, name in SIGNS.items() for query in groups[name]]
    return CommandResult(groups, lines, FAILED if groups["lost"] else 0)


async def _keep(
    speakers: Speakers, kind: TextKind, name: str, lang: str, text: str, *, draft: bool, apply: bool
) -> None:
    """Keep a text as a draft, or make it live."""
    if draft:
        async with deed(CHANGED[kind], name):
            keep_draft(lab_folder(), speakers, kind, name, lang, text)
    if apply:
        async with deed(CHANGED[kind], name):
            make_live(lab_folder(), speakers, kind, name, lang, text, login())


@command_line.command("prompt")
async def show_prompt(
    dialog: Annotated[str, typer.Argument(help="Whose prompt.")],
    file: TextFile = None,
    *,
    lang: Annotated[str, typer.Option(callback=language_given, help="The prompt's language.")] = FALLBACK,
    draft: AsDraft = False,
    apply: ForEverybody = False,
) -> CommandResult:
    """Show the prompt of a dialog, the draft of it if there is one; keep another one as a draft, or make it live."""
    text = given_text(file) if file else text_of(lab_folder(), "prompt", dialog, lang)
    async with open_parts(read_settings(), remote=False, reads=True) as parts:
        check_text(parts.speakers, "prompt", dialog, lang, text)
    await _keep(parts.speakers, "prompt", dialog, lang, text, draft=draft, apply=apply)
    return CommandResult({"prompt": text}, text.splitlines())


@command_line.command("changes")
async def text_changes(
    *, put_back: Annotated[str, typer.Option(metavar="CHANGE", help="Let everybody have the text from before it.")] = ""
) -> CommandResult:
    """List who made which card or prompt live, and when, the latest first; put one back."""
    if put_back:
        async with open_parts(read_settings(), remote=False, reads=True) as parts, deed("text_put_back", put_back):
            put_text_back(lab_folder(), parts.speakers, put_back, login())
    every = changes_of(lab_folder())
    rows = [(name, it.who, it.kind, it.name, it.lang, it.at) for name, it in every.items()]
    plain = {name: it.model_dump(mode="json") for name, it in every.items()}
    return CommandResult(plain, columns(rows) if rows else [])


SIGNS = {"+": "gained", "-": "lost", "?": "missed", "=": "kept"}


AgentName = Annotated[str, typer.Argument(metavar="NAME", help="The agent's.")]
Maker = Annotated[str, typer.Option("--maker", callback=name_given, help="Whose it is, as their key is called.")]
LOCAL = "local"


@asynccontextmanager
async def deed(what: Action, about: str) -> AsyncIterator[None]:
    """Write a change for everybody to the audit log."""
    async with open_parts(read_settings(), remote=False) as parts, audited(parts.services, login(), what, about=about):
        yield


def _workshop(maker: str) -> Workshop:
    return Workshop(lab_folder(), maker)


@agents.command("list")
async def list_agents(*, maker: Maker = LOCAL) -> CommandResult:
    """List the maker's agents, and the shared ones."""
    workshop = _workshop(maker)
    own = {name: workshop.read(name) for name in workshop.names()}
    shared = {name: agent.maker for name, agent in workshop.shared().items()}
    lines = [f"{name}  version {agent.version}  {', '.join(agent.tools)}" for name, agent in own.items()]
    lines += [f"{name}  shared by {owner}" for name, owner in shared.items()]
    return CommandResult({"own": {name: agent.version for name, agent in own.items()}, "shared": shared}, lines)


@agents.command("show")
async def show_agent(
    name: AgentName,
    *,
    version: Annotated[int, typer.Option(min=0, help="Which version (default: as it is).")] = 0,
    maker: Maker = LOCAL,
) -> CommandResult:
    """Show an agent's file, as it is or as a version was; saved again it is the next version."""
    agent = _workshop(maker).read(name, version)
    return CommandResult(agent.model_dump(mode="json"), written(agent).splitlines())


@agents.command("save")
async def save_agent(name: AgentName, file: Path, *, maker: Maker = LOCAL) -> CommandResult:
    """Keep a YAML file as an agent's next version."""
    kept = _workshop(maker).save(name, read_agent(file, "LAB_FOLDER"))
    return CommandResult({"agent": name, "version": kept.version}, [f"{name}  version {kept.version}"])


@agents.command()
async def changes(name: AgentName, old: int, new: int, *, maker: Maker = LOCAL) -> CommandResult:
    """Show in what two versions differ."""
    lines = _workshop(maker).changes(name, old, new)
    return CommandResult(lines, lines)


@agents.command("try")
async def try_agent(
    name: AgentName, texts: Annotated[list[str], typer.Argument(metavar="TEXT")], *, maker: Maker = LOCAL
) -> CommandResult:
    """Talk to an agent, a message for each text, and show the trace; nobody else gets to see it."""
    async with _workshop(maker).trial(read_settings(), name) as assistant:
        turns = [await play(assistant, text) for text in texts]
    lines = [line for turn in turns for line in (f"user: {turn.text}", *turn.trace.splitlines())]
    return CommandResult([{"text": turn.text, "trace": turn.trace} for turn in turns], lines)


@agents.command()
async def share(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Make an agent a dialog for everybody, from the next start of a door on."""
    async with deed("agent_shared", name):
        path = _workshop(maker).share(name)
    return CommandResult({"agent": name, "file": str(path)}, [str(path)])


@agents.command()
async def unshare(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Take an agent back from everybody."""
    async with deed("agent_unshared", name):
        _workshop(maker).unshare(name)
    return CommandResult({"agent": name}, [])


@agents.command("delete")
async def delete_agent(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Delete an agent with its versions, its trial talks, and what is shared of it."""
    async with deed("agent_deleted", name):
        _workshop(maker).delete(name)
    return CommandResult({"agent": name}, [])
