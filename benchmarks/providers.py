"""Play one conversation with every form of every provider, and count refused, lost and doubled turns.

`python -m benchmarks.providers`: handoff, writes, questions, undo, a picture, and what goes wrong: a 429, errors and
breaks in mid-stream, a refusal, a cut, a stop, a context too long, a history beyond its cut. `--server URL` names
servers that are running: below it are the forms of `providers.toml` and `/journal`, which says what was refused.
Without it they are started from `../shared/tools`, if they are there, else the servers of `tests/support/providers`,
whose forms are kinds of rules.

Each form has three conversations. Two are in one process; the third, in another one, is over the `.env` that
`setup --yes` wrote. "turns" are all of them. "refused" are turns that went wrong after a refusal, and those in which
the same was refused again; "lost" are turns that are not as they must be without a refusal; "doubled" are writes done
twice. "learnt" are the fields and forms that were refused once and then left out, "asked again" the requests that this
took, all in the first conversation; "second talk" and "over .env" are those in the other two, "setup" those while
setting up, or its exit code if it failed. "busy", "failed", "broken" and "overflow" are the 429s and 5xxs, the errors
and the ends in mid-stream, and the prompts that were too long.

The standard error shows the faults, turn by turn. Exit code 1: something was refused, lost or doubled, asked
again in another conversation, or could not be set up.
"""

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import httpx

from app.process.exit_codes import FAILED
from benchmarks import provider_talk
from benchmarks.processes import command
from benchmarks.provider_counts import Tried
from benchmarks.provider_forms import ProviderForm, forms
from benchmarks.provider_journal import Journal
from benchmarks.publishing import marked
from benchmarks.report import Row, arguments, markdown, show
from tests.support.places import ROOT
from tests.support.strict_providers.kinds import PARAMETERS, strict_server

P = ParamSpec("P")
T = TypeVar("T")
Figures = tuple[tuple[str, str | int | float | None], ...]
LONG = 30
"""Turns of the long end."""
SHARED = ROOT.parent / "shared" / "tools"
PAGE = ROOT / "docs" / "models.md"
COMMAND = "benchmarks.providers"


async def tried(form: ProviderForm, url: str, long: int, journal: Journal | None, rankers: Path) -> Tried:
    """Try everything with a form; clear the `journal` before each step, if it is ours alone.

    All talks share the trained rankers of tools in `rankers`: they depend on no provider, and take longer than a talk.
    """
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / name for name in ("talks", "setup")]
        for folder in folders:
            folder.mkdir()
            (folder / f"{provider_talk.DATABASE.stem}.rankers").symlink_to(rankers)
        if journal:
            await journal.clear()
        talks = await _in_process(provider_talk.talk_twice, form, url, folders[0], long)
        if journal:
            await journal.clear()
        setup = await _in_process(provider_talk.set_up, form, url, folders[1])
        over_env = None
        if not setup.code:
            over_env = await _in_process(provider_talk.talk_over_env, form, url, folders[1])
    return Tried(form, talks, setup, over_env)


async def _in_process(function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call a function in a process of its own; a fork server imports its modules once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.provider_talk", "langchain_openai"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return await asyncio.wrap_future(pool.submit(function, *given, **named))


@dataclass(frozen=True)
class Servers:
    """Running servers, and the forms of their requests."""

    url: str
    forms: Sequence[ProviderForm]
    is_ours: bool = False
    """Whether this benchmark has started them."""


@asynccontextmanager
async def served(url: str | None, *, own: bool) -> AsyncIterator[Servers]:
    """Yield the running servers at `url`, or start some: our own, or those beside the project."""
    if url:
        yield Servers(url.rstrip("/"), forms())
    elif own or not (SHARED / "providers").is_dir():
        strict = strict_server()
        async with strict.open() as address:
            own_forms = [
                ProviderForm(name, "openai:m", f"/{name}/v1", parameters=PARAMETERS.get(name, {}))
                for name in strict.forms
            ]
            yield Servers(address, own_forms, is_ours=True)
    else:
        async with command("providers", settings={"PYTHONPATH": f"{SHARED}:{ROOT}"}) as process:
            if process.stdout is None:
                raise RuntimeError("a process without pipes")
            yield Servers((await process.stdout.readline()).decode().strip(), forms(), is_ours=True)


async def try_all(chosen: argparse.Namespace, rankers: str) -> list[Row]:
    """Try the chosen forms, and yield each as soon as it is done."""
    rows = []
    async with served(chosen.server, own=chosen.own) as servers, httpx.AsyncClient(timeout=60) as client:
        journal = Journal(servers.url, client) if servers.is_ours else None
        for form in servers.forms:
            if not chosen.only or any(word in form.name for word in chosen.only):
                outcome = await tried(form, servers.url, chosen.long, journal, Path(rankers))
                for line in outcome.faults():
                    print(line, file=sys.stderr, flush=True)
                rows.append(outcome.row())
    return rows


def is_well(row: Row) -> bool:
    """Tell whether a form has no refused, lost or doubled turn, and no repeated request after a lesson."""
    counts = ("refused", "lost", "doubled", "second talk", "over .env")
    return not any(row[count] for count in counts) and not isinstance(row["setup"], str)


def grouped(rows: Sequence[Row]) -> list[Row]:
    """Return one row for all forms with the same figures; the first cell has their names."""
    names: dict[Figures, list[str]] = {}
    for row in rows:
        figures = tuple((column, value) for column, value in row.items() if column != "form")
        names.setdefault(figures, []).append(str(row["form"]))
    return [{"form": "; ".join(forms_of), **dict(figures)} for figures, forms_of in names.items()]


def _parser() -> argparse.ArgumentParser:
    parser = arguments(__doc__)
    parser.add_argument("--server", help="the address of servers that are running")
    parser.add_argument("--own", action="store_true", help="try the project's own strict servers")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="only forms whose names have one of these words")
    parser.add_argument("--long", type=int, default=LONG, help="turns of the long end")
    parser.add_argument("--publish", action="store_true", help="write the table into docs/models.md")
    return parser


def main(options: Sequence[str] | None = None) -> int:
    """Try the forms; return the exit code."""
    chosen = _parser().parse_args(options)
    with tempfile.TemporaryDirectory() as rankers:
        rows = asyncio.run(try_all(chosen, rankers))
    if chosen.publish:
        PAGE.write_text(marked(PAGE.read_text("utf-8"), "providers", markdown(grouped(rows)), COMMAND), "utf-8")
    show(rows, as_json=chosen.json)
    return 0 if all(map(is_well, rows)) else FAILED


if __name__ == "__main__":
    sys.exit(main())
