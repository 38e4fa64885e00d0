"""The pages on runs: cases, results side by side, simulated users."""

import asyncio
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Annotated, NamedTuple

from fastapi import Form, HTTPException, Response
from fastapi.responses import HTMLResponse

from app.doors.http.pages.paths import Sent
from app.plugins.lab.case_table import MODELS, NAMES, OF_WHOLE, Sheet, check_file, csv_of, keep_table, read_csv, rows_of
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import written
from app.plugins.lab.kinds import KINDS
from app.plugins.lab.live import Tell
from app.plugins.lab.pages.visit import FileName, LabVisit, Nested, Number, Text, Visiting, as_file, led_to, new_router
from app.plugins.lab.reasons import PHRASES
from app.plugins.lab.runs import MOST_COMPARED, LabRun, RunOrder, Verdict, judge_result, run_files, summaries
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan, UserWish, simulate
from app.plugins.lab.threads import keep_case as keep_thread
from app.process.exit_codes import FAULTS, told
from app.yaml_file import MisfitValue, parsed, validated
from prompts import sentence

router = new_router()


def sample(sheet: Sheet, lang: str) -> Case | SimulatedUser:
    """Return a case, or a simulated user, to begin with: it works as it is."""
    says = sentence(PHRASES, "sample", lang), sentence(PHRASES, "sample_again", lang)
    expect = Expected(calls=(ExpectedCall(tool="add_todos"),))
    if sheet == "users":
        return SimulatedUser(lang=lang, wishes=(UserWish(says=says, expect=expect),))
    return Case(lang=lang, turns=(CaseTurn(user=says[0], expect=expect),))


@router.get("/lab/file")
def file(visit: Visiting, kind: Sheet, name: FileName = "") -> str:
    """Show a case or a simulated user to be edited as YAML; without a name a new one."""
    part = visit.folder.read(kind, name, KINDS[kind]) if name else sample(kind, visit.lang)
    return visit.page("runs/file", kind=kind, file=name, text=written(part))


@router.post("/lab/file")
def save(visit: Visiting, kind: Annotated[Sheet, Form()], file: Text, text: Text) -> Response:
    """Write a case or a simulated user."""
    part = parsed(text, MODELS[kind], "")
    check_file(kind, part, visit.assistant.speakers, visit.mocks)
    visit.folder.write(kind, file, part)
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
    part = visit.folder.read(sheet, name, MODELS[sheet]) if name else sample(sheet, visit.lang)
    return visit.page("runs/sheet", sheet=sheet, file=name, whole=part, rows=[*rows_of(sheet, name, part)])


@router.post("/lab/sheet")
async def save_sheet(visit: Visiting, form: Nested) -> Response:
    """Write a case, whose turns are the rows of the form, or a user, whose wishes they are."""
    sheet: Sheet = "users" if form.get("sheet") == "users" else "cases"
    file, of_whole = str(form.get("file", "")), {name: str(form.get(name, "")) for name in OF_WHOLE[sheet]}
    rows = [{NAMES[sheet]: file, **of_whole, **row} for row in form.get("turns", [{}]) if row or sheet == "users"]
    await visit.check_model(str(form.get("model", "")), "model")
    speakers, is_kept = visit.assistant.speakers, "is_kept" in form
    await asyncio.to_thread(keep_table, visit.folder, speakers, sheet, rows, visit.mocks, replace=is_kept)
    return led_to("/lab/runs")


@router.get("/lab/csv")
def as_csv(visit: Visiting, sheet: Sheet) -> Response:
    """Give all cases, or all simulated users, as a table; without any a sample of one."""
    parts = visit.folder.every(sheet, MODELS[sheet]) or {"sample": sample(sheet, visit.lang)}
    return as_file(csv_of(sheet, parts), f"{sheet}.csv")


@router.post("/lab/csv")
def from_csv(visit: Visiting, form: Sent) -> Response:
    """Keep the cases or users of a table; none of them if one is wrong, or would replace a file without permission."""
    if not form.uploads:
        raise HTTPException(422)
    sheet: Sheet = "users" if form.fields.get("sheet") == "users" else "cases"
    rows = read_csv(sheet, form.uploads[0].data)
    try:
        is_replaced = "replace" in form.fields
        keep_table(visit.folder, visit.assistant.speakers, sheet, rows, visit.mocks, replace=is_replaced)
    except MisfitValue as wrong:
        # The page has no fields for the table's cells.
        wrong.path = ()
        raise
    return led_to("/lab/runs")


@router.post("/lab/cases/from-thread")
async def keep_case(visit: Visiting, name: Text) -> Response:
    """Keep a thread as a case."""
    return led_to(f"/lab/case?name={await keep_thread(visit.assistant, visit.settings, name)}")


@router.post("/lab/runs")
async def run(visit: Visiting, form: Nested) -> str:
    """Begin to play cases with one variant or two; the answer shows the progress."""
    order = validated(RunOrder, form)
    for name, variant in order.variants.items():
        await visit.check_model(variant.model, "variants", name, "model")
    await visit.check_model(order.judge, "judge")

    async def work(tell: Tell) -> Response:
        name, _ = await run_files(visit.settings, order, tell)
        return led_to(f"/lab/run?name={name}")

    return visit.draw("work", work=visit.benches.works.begin(work))


@router.post("/lab/simulation")
async def simulation(visit: Visiting, form: Nested) -> str:
    """Let simulated users talk, and keep their failures as cases; the answer shows the progress."""
    order = validated(SimulationPlan, {**form, "keep": True})

    async def work(tell: Tell) -> Response:
        return HTMLResponse(visit.draw("simulated", done=await simulate(visit.settings, order, tell)))

    return visit.draw("work", work=visit.benches.works.begin(work))


@router.get("/lab/work", response_model=None)
async def progress(visit: Visiting, id: str) -> Response | str:
    """Show the progress of some work, or its outcome."""
    work = visit.benches.works.get(id)
    if work is None:
        raise HTTPException(404)
    if not work.task.done():
        return visit.draw("work", work=work)
    try:
        return work.task.result()
    except FAULTS as fault:
        return visit.draw("fault", fault=told(fault, visit.lang))


@router.get("/lab/runs/trend")
def trend(visit: Visiting) -> str:
    """Show the latest runs side by side: how many plays are good, and how many turns of each dialog."""
    runs = visit.sound("runs", LabRun, *visit.folder.names("runs")[-MOST_COMPARED:])
    counts = {name: run.by_holder() for name, run in runs.items()}
    holders = sorted({holder for own in counts.values() for holder in own})
    return visit.page("runs/trend", runs=runs, counts=counts, holders=holders)


@router.get("/lab/run")
def show_run(visit: Visiting, name: FileName) -> str:
    """Show the results of a run."""
    shown = visit.folder.read("runs", name, LabRun)
    return visit.page("runs/one", file=name, run=shown, rows=summaries(shown), beside=beside)


@router.post("/lab/run/judge")
def judge(visit: Visiting, file: Text, place: Number, verdict: Annotated[Verdict, Form()]) -> str:
    """Keep a person's verdict on a result."""
    result = judge_result(visit.folder, file, place, verdict)
    return visit.draw("verdicts", result=result, place=place, file=file)


class LinePair(NamedTuple):
    """A line of each of two texts; empty where only the other text has a line."""

    left: str
    right: str
    is_same: bool


def beside(left: str, right: str) -> Iterator[LinePair]:
    """Yield the lines of two texts in rows; equal lines share a row."""
    old, new = left.splitlines(), right.splitlines()
    for kind, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for pair in zip_longest(old[begin:end], new[new_begin:new_end], fillvalue=""):
            yield LinePair(*pair, kind == "equal")
