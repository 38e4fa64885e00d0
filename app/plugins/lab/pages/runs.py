"""The pages on runs: cases, what came of them side by side, simulated users."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Annotated, NamedTuple

from fastapi import Form, HTTPException, Response
from fastapi.responses import HTMLResponse

from agents.errors import UsageError
from app.doors.http.page.router import Sent
from app.plugins.lab.case_table import (
    HEADER,
    MODELS,
    NAMES,
    OF_WHOLE,
    Sheet,
    csv_of,
    keep_table,
    read_csv,
    rows_of,
)
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import written
from app.plugins.lab.kinds import KINDS
from app.plugins.lab.live import Tell
from app.plugins.lab.pages.visit import (
    FileName,
    LabVisit,
    Nested,
    Number,
    Text,
    Visiting,
    as_file,
    led_to,
    new_router,
    text,
)
from app.plugins.lab.runs import LabRun, RunOrder, Verdict, judge_result, latest, run_files, summaries
from app.plugins.lab.simulation import SimulatedUser, Talks, UserWish, simulate
from app.plugins.lab.threads import keep_case as keep_thread
from app.process.exit_codes import FAULTS
from app.yaml_file import MisfitValue, parsed, validated

router = new_router()
WISH = UserWish(
    says=("add milk to my list", "put milk on my list"), expect=Expected(calls=(ExpectedCall(tool="add_todos"),))
)
NEW: Mapping[Sheet, Case | SimulatedUser] = {
    "cases": Case(turns=(CaseTurn(user=WISH.says[0], expect=WISH.expect),)),
    "users": SimulatedUser(wishes=(WISH,)),
}


@router.get("/lab/file")
def file(visit: Visiting, kind: Sheet, name: FileName = "") -> str:
    """Show a case or a simulated user to be edited as YAML; without a name a new one."""
    text = written(visit.folder.read(kind, name, KINDS[kind]) if name else NEW[kind])
    return visit.page("runs/file", kind=kind, file=name, text=text)


@router.post("/lab/file")
def save(visit: Visiting, kind: Annotated[Sheet, Form()], file: Text, text: Text) -> Response:
    """Write a case or a simulated user."""
    visit.folder.write(kind, file, parsed(text, KINDS[kind], "YAML"))
    return led_to("/lab/runs")


@router.get("/lab/case")
def show_case(visit: Visiting, name: FileName = "") -> str:
    """Show a case to be edited as a table of its turns; without a name a new one."""
    return _sheet(visit, "cases", name)


@router.get("/lab/user")
def show_user(visit: Visiting, name: FileName = "") -> str:
    """Show a simulated user to be edited as a table of their wishes; without a name a new one."""
    return _sheet(visit, "users", name)


def _sheet(visit: LabVisit, sheet: Sheet, name: str) -> str:
    whole = visit.folder.read(sheet, name, MODELS[sheet]) if name else NEW[sheet]
    return visit.page("runs/sheet", sheet=sheet, file=name, whole=whole, rows=[*rows_of(sheet, name, whole)])


@router.post("/lab/sheet")
def save_sheet(visit: Visiting, form: Nested) -> Response:
    """Write a case, whose turns are the rows of the form, or a user, whose wishes they are."""
    sheet: Sheet = "users" if form.get("sheet") == "users" else "cases"
    file, of_whole = str(form.get("file", "")), {name: str(form.get(name, "")) for name in OF_WHOLE[sheet]}
    rows = [{NAMES[sheet]: file, **of_whole, **row} for row in form.get("turns", [{}]) if row or sheet == "users"]
    keep_table(visit.folder, sheet, rows, replace="is_kept" in form)
    return led_to("/lab/runs")


@router.get("/lab/csv")
def as_csv(visit: Visiting, sheet: Sheet) -> Response:
    """Give all cases, or all simulated users, as a table."""
    return as_file(csv_of(sheet, visit.folder.every(sheet, MODELS[sheet])), f"{sheet}.csv")


@router.post("/lab/csv")
def from_csv(visit: Visiting, form: Sent) -> Response:
    """Keep the cases or users of a table; none of them if one is wrong, or would change another unasked."""
    if not form.uploads:
        raise HTTPException(422)
    sheet: Sheet = "users" if form.fields.get("sheet") == "users" else "cases"
    rows = read_csv(sheet, form.uploads[0].data)
    try:
        keep_table(visit.folder, sheet, rows, replace="replace" in form.fields)
    except MisfitValue as wrong:
        if len(wrong.path) != len(("turns", "row", "column")):
            raise
        # The table has no fields on the page.
        _, row, column = wrong.path
        facts = {"row": int(row) + HEADER, "column": column, "reason": wrong.reason(visit.lang)}
        raise UsageError(text("in_row", visit.lang, **facts)) from None
    return led_to("/lab/runs")


@router.post("/lab/cases/from-thread")
async def keep_case(visit: Visiting, name: Text) -> Response:
    """Keep a thread as a case."""
    case = keep_thread(visit.settings, await visit.assistant.records(name), name)
    return led_to(f"/lab/case?name={case}")


@router.post("/lab/runs")
async def run(visit: Visiting, form: Nested) -> str:
    """Begin to play cases with one variant or two; the answer tells how far it is."""
    order = validated(RunOrder, form)

    async def work(tell: Tell) -> Response:
        name, _ = await run_files(visit.settings, order, tell)
        return led_to(f"/lab/run?name={name}")

    return visit.draw("work", work=visit.benches.works.begin(work))


@router.post("/lab/simulation")
async def simulation(visit: Visiting, form: Nested) -> str:
    """Let simulated users talk, and keep their failures as cases; the answer tells how far they are."""
    order = validated(Talks, {**form, "keep": True})

    async def work(tell: Tell) -> Response:
        return HTMLResponse(visit.draw("simulated", done=await simulate(visit.settings, order, tell)))

    return visit.draw("work", work=visit.benches.works.begin(work))


@router.get("/lab/work", response_model=None)
async def progress(visit: Visiting, id: str) -> Response | str:
    """Tell how far some work is, or what came of it."""
    work = visit.benches.works.get(id)
    if work is None:
        raise HTTPException(404)
    if not work.task.done():
        return visit.draw("work", work=work)
    try:
        return work.task.result()
    except FAULTS as fault:
        return visit.draw("fault", fault=fault)


@router.get("/lab/runs/trend")
def trend(visit: Visiting) -> str:
    """Show the latest runs side by side: how many plays are good, and how many turns of each dialog."""
    runs = latest(visit.folder)
    counts = {name: run.by_holder() for name, run in runs.items()}
    holders = sorted({holder for own in counts.values() for holder in own})
    return visit.page("runs/trend", runs=runs, counts=counts, holders=holders)


@router.get("/lab/run")
def show_run(visit: Visiting, name: FileName) -> str:
    """Show what came of a run."""
    shown = visit.folder.read("runs", name, LabRun)
    return visit.page("runs/one", file=name, run=shown, rows=summaries(shown), beside=beside)


@router.post("/lab/run/judge")
def judge(visit: Visiting, file: Text, place: Number, verdict: Annotated[Verdict, Form()]) -> str:
    """Keep what a person thinks of a result."""
    result = judge_result(visit.folder, file, place, verdict)
    return visit.draw("verdicts", result=result, place=place, file=file)


class LinePair(NamedTuple):
    """A line of each text; empty where the other one has a line more."""

    left: str
    right: str
    is_same: bool


def beside(left: str, right: str) -> Iterator[LinePair]:
    """Yield the lines of two texts, those that are the same in one row."""
    old, new = left.splitlines(), right.splitlines()
    for kind, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for pair in zip_longest(old[begin:end], new[new_begin:new_end], fillvalue=""):
            yield LinePair(*pair, kind == "equal")
