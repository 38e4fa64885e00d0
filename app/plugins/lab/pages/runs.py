"""The pages on runs: cases, results side by side, simulated users."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Annotated, Any, NamedTuple

from fastapi import Form, HTTPException, Response
from fastapi.responses import HTMLResponse

from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall, check_names
from app.plugins.lab.folder import Kind
from app.plugins.lab.forms import case_of, user_of
from app.plugins.lab.live import Tell
from app.plugins.lab.pages.visit import FileName, LabVisit, Nested, Number, Text, Visiting, led_to, new_router
from app.plugins.lab.reasons import PHRASES
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.runs import LabRun, RunOrder, Verdict, judge_result, run_files, summaries
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan, UserWish, simulate
from app.plugins.lab.threads import keep_case as keep_thread
from app.process.exit_codes import FAULTS, told
from app.yaml_file import validated
from prompts import sentence

router = new_router()


EXPECTED = Expected(calls=(ExpectedCall(tool="add_todos"),))
"""What the samples expect."""


def sample_case(lang: str) -> Case:
    """Return a case to begin with; it works as it is."""
    return Case(lang=lang, turns=(CaseTurn(user=sentence(PHRASES, "sample", lang), expect=EXPECTED),))


def sample_user(lang: str) -> SimulatedUser:
    """Return a simulated user to begin with; it works as it is."""
    says = sentence(PHRASES, "sample", lang), sentence(PHRASES, "sample_again", lang)
    return SimulatedUser(lang=lang, wishes=(UserWish(says=says, expect=EXPECTED),))


@router.get("/lab/case")
def show_case(visit: Visiting, name: FileName = "") -> str:
    """Show a case to be edited; without a name a new one."""
    case = visit.folder.read("cases", name, Case) if name else sample_case(visit.lang)
    return visit.page("runs/sheet", sheet="cases", file=name, whole=case, blank=Expected())


@router.post("/lab/case")
def save_case(visit: Visiting, form: Nested) -> Response:
    """Write a case."""
    file = _file(visit, "cases", form)
    case = case_of(form, visit.folder.read("cases", file, Case) if "is_kept" in form else None)
    expected = [turn.expect for turn in case.turns]
    check_names("turns", expected, visit.assistant.speakers, [*visit.mocks, *case.mocks])
    visit.folder.write("cases", file, case)
    return led_to("/lab/runs")


@router.get("/lab/user")
def show_user(visit: Visiting, name: FileName = "") -> str:
    """Show a simulated user to be edited; without a name a new one."""
    user = visit.folder.read("users", name, SimulatedUser) if name else sample_user(visit.lang)
    return visit.page("runs/sheet", sheet="users", file=name, whole=user, blank=Expected())


@router.post("/lab/user")
async def save_user(visit: Visiting, form: Nested) -> Response:
    """Write a simulated user."""
    file, user = _file(visit, "users", form), user_of(form)
    await visit.check_model(user.model, "model")
    check_names("wishes", [wish.expect for wish in user.wishes], visit.assistant.speakers, visit.mocks)
    visit.folder.write("users", file, user)
    return led_to("/lab/runs")


def _file(visit: LabVisit, kind: Kind, form: Mapping[str, Any]) -> str:
    """Return the name of the file that a form is for. Raises UsageError: a new one would replace another."""
    file = str(form.get("file", ""))
    if "is_kept" not in form and file in visit.folder.names(kind):
        raise LabRefusal("would_change", names=file)
    return file


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
