"""Runs: cases played with several variants, several times; judged by checks, by a person, and by a model."""

import asyncio
import re
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from typing import Any, Literal

from pydantic import Field, field_validator

from agents.errors import UsageError
from agents.events import TurnStart
from app.assistant import Assistant
from app.plugins.lab.cases import Case, Difference
from app.plugins.lab.folder import LabFolder, lab_folder, named_after
from app.plugins.lab.live import Tell
from app.plugins.lab.mocks import Mock
from app.plugins.lab.played_turn import play
from app.plugins.lab.reasons import PHRASES
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.variants import LabVariant, ask, staged_as
from app.presentation.lines import columns
from app.prices import Price
from app.settings import Settings
from app.yaml_file import FilePart
from prompts import prompt, sentence

MOST_TIMES, MOST_VARIANTS = 20, 6
Judge = Literal["checks", "person", "model"]
Verdict = Literal["good", "bad"]
JUDGES: Sequence[Judge] = ("checks", "person", "model")
# A verdict is a word by itself: "no idea" and "yes and no" are not verdicts.
VERDICT = re.compile(r"\W*(?P<word>yes|no)(?:\s*[^\w\s]+\s*|\s+(?-i:(?![a-zа-яё]))|\s*$)", re.IGNORECASE)
# Right behind the verdict: a number in the reason is not a score.
SCORE = re.compile(r"\W*(?P<points>10|\d(?:[.,]\d)?) ?/ ?10\b\W*")
COSTS = {"calls": 0, "tokens": 0, "seconds": 1, "price": 4}
"""The costs of plays, each with its number of decimals."""
_JUDGING = threading.Lock()


class TurnResult(FilePart, extra="ignore"):
    """The result of a turn of a case; a run of an earlier version has fields that nobody reads now."""

    user: str | None
    answer: str = ""
    trace: str = ""
    problems: tuple[str, ...] = ()
    """The problems that the checks have found."""
    differences: tuple[Difference, ...] = ()
    """The problems with the expected and the actual texts; none in a run of an earlier version."""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0
    price: float = 0


class Judgement(FilePart):
    """A model's verdict on a result, by one criterion."""

    criterion: str
    good: bool | None = None
    """None where the model said neither yes nor no."""
    score: float | None = None
    """The score from 0 to 10, if the model gave one."""
    reason: str = ""
    """The reason of the verdict; without a verdict, the model's words."""


class CaseResult(FilePart):
    """The result of a case that was played once with a variant."""

    case: str
    variant: str
    time: int = 1
    """The number of the repetition, from 1."""
    turns: tuple[TurnResult, ...] = ()
    person: bool | None = None
    model: bool | None = None
    reason: str = ""
    """The reason of the model's verdict; without a verdict, the model's words."""
    judgements: tuple[Judgement, ...] = ()
    """The model's verdicts by each criterion; none in a run of an earlier version."""

    @property
    def problems(self) -> list[str]:
        """The problems that the checks have found, each with its turn."""
        return [f"turn {place}: {problem}" for place, turn in enumerate(self.turns, 1) for problem in turn.problems]

    @property
    def checks(self) -> bool:
        """Whether the checks found nothing."""
        return not self.problems

    @property
    def trace(self) -> str:
        """The traces of all turns."""
        return "\n".join(f"{TurnStart(text=turn.user)}\n{turn.trace}" for turn in self.turns)


class RunOrder(FilePart):
    """The order of a run: cases, mocks, variants, repetitions, and the judging model."""

    cases: tuple[str, ...] = ()
    """Files of cases; none: all."""
    mocks: tuple[str, ...] = ()
    """Files of mocks that each variant gets besides its own."""
    variants: Mapping[str, LabVariant] = Field({"as set": LabVariant()}, min_length=1, max_length=MOST_VARIANTS)
    times: int = Field(default=1, ge=1, le=MOST_TIMES)
    judge: str = ""
    """The model that judges; empty: none."""

    @field_validator("judge")
    @classmethod
    def _can_judge(cls, model: str) -> str:
        if model.startswith("local"):
            raise LabRefusal("judge_of_rules")
        return model


class LabRun(RunOrder):
    """The results of cases that were played together."""

    begun: str
    results: tuple[CaseResult, ...] = ()

    def differing(self) -> list[str]:
        """Return the cases whose traces or verdicts are not the same in all variants and repetitions."""
        outcomes: defaultdict[str, set[tuple[str, bool]]] = defaultdict(set)
        for result in self.results:
            outcomes[result.case].add((result.trace, result.checks))
        return [case for case, different in outcomes.items() if len(different) > 1]

    def unanswered(self) -> list[CaseResult]:
        """Return the results on which the judging model said neither yes nor no."""
        return [result for result in self.results if self.judge and result.model is None]

    def agreement(self) -> dict[tuple[Judge, Judge], tuple[int, int]]:
        """Return for each two judges the numbers of agreements and of results judged by both, if there are any."""
        counts = {}
        for first, second in combinations(JUDGES, 2):
            pairs = [(getattr(result, first), getattr(result, second)) for result in self.results]
            if both := [pair for pair in pairs if None not in pair]:
                counts[first, second] = sum(a == b for a, b in both), len(both)
        return counts


def summaries(run: LabRun) -> list[dict[str, Any]]:
    """Return the table of a run, a line for each variant: the numbers of plays and of good plays, and the costs.

    `consistent` counts the cases with the same trace each time; an empty share means that the judge judged none.
    """
    lines: list[dict[str, Any]] = []
    for name in run.variants:
        own = [result for result in run.results if result.variant == name]
        traces = [{result.trace for result in own if result.case == case} for case in {result.case for result in own}]
        turns = [turn for result in own for turn in result.turns]
        lines.append(
            {
                "variant": name,
                "plays": len(own),
                "passed": sum(result.checks for result in own),
                "person": _share([result.person for result in own]),
                "model": _share([result.model for result in own]) or ("0 / 0" if run.judge else ""),
                "consistent": sum(len(different) == 1 for different in traces),
                "cases": len(traces),
                **{cost: round(sum(getattr(turn, cost) for turn in turns), digits) for cost, digits in COSTS.items()},
                "score": _mean([each.score for result in own for each in result.judgements]),
            }
        )
    return lines


def _share(verdicts: Sequence[bool | None]) -> str:
    votes = [verdict for verdict in verdicts if verdict is not None]
    return f"{sum(votes)} / {len(votes)}" if votes else ""


def _mean(scores: Sequence[float | None]) -> str:
    numbers = [score for score in scores if score is not None]
    return f"{sum(numbers) / len(numbers):.1f}" if numbers else ""


def table_lines(run: LabRun) -> list[str]:
    """Return the table of a run as text, with problems, differing cases and the agreement of the judges."""
    lines = [f"! {result.case} ({result.variant}): {result.problems[0]}" for result in run.results if result.problems]
    lines += [f"? {result.case} ({result.variant}): not answered: {result.reason}" for result in run.unanswered()]
    lines += [f"differs: {name}" for name in run.differing()]
    lines += [f"{pair[0]} and {pair[1]} agree on {same} of {both}" for pair, (same, both) in run.agreement().items()]
    rows = summaries(run)
    return [*columns([[*rows[0]], *([*row.values()] for row in rows)]), *lines]


def judge_result(folder: LabFolder, name: str, place: int, verdict: Verdict) -> CaseResult:
    """Keep a person's verdict on a result (from 0), and return the result. Raises UsageError: there is none."""
    with _JUDGING:
        run = folder.read("runs", name, LabRun)
        if not 0 <= place < len(run.results):
            raise LabRefusal("no_such_result", run=name, count=len(run.results))
        results = [*run.results]
        results[place] = results[place].model_copy(update={"person": verdict == "good"})
        folder.write("runs", name, run.model_copy(update={"results": tuple(results)}))
    return results[place]


async def run_cases(
    settings: Settings,
    cases: Mapping[str, Case],
    order: RunOrder,
    mocks: Sequence[Mock] = (),
    tell: Tell = lambda done, plays: None,
) -> LabRun:
    """Play the cases of an order; `tell` gets the number of finished plays, and of all.

    Raises:
        ConfigError: a model is wrong.
        UsageError: there is no case.
    """
    if not cases:
        raise LabRefusal("no_case")
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    results: list[CaseResult] = []
    plays = len(cases) * len(order.variants) * order.times
    for (name, variant), group in product(order.variants.items(), _groups(cases, order.times)):
        mocked = variant.model_copy(update={"mocks": (*group[0][1].mocks, *variant.mocks, *mocks)})
        first, case, number = group[0]
        async with staged_as(settings, mocked, case.begins, f"{first}-{number}") as assistant:
            for title, case, time in group:
                turns = [turn async for turn in _played(assistant, f"{title}-{time}", case, settings.llm_prices)]
                result = CaseResult(case=title, variant=name, time=time, turns=tuple(turns))
                results.append(await judged(settings, order.judge, case, result) if order.judge else result)
                tell(len(results), plays)
    return LabRun(**dict(order), begun=begun, results=tuple(results))


def _groups(cases: Mapping[str, Case], times: int) -> list[list[tuple[str, Case, int]]]:
    """Return the plays that share a stage: of cases with the same mocks, and without an own user or beginning."""
    groups: defaultdict[str, list[tuple[str, Case, int]]] = defaultdict(list)
    for (title, case), time in product(cases.items(), range(1, times + 1)):
        own = f"{title}-{time}" if case.user or case.begins else ""
        groups[f"{case.mocks!r} {own}"].append((title, case, time))
    return [*groups.values()]


async def _played(
    assistant: Assistant, thread: str, case: Case, prices: Mapping[str, Price]
) -> AsyncIterator[TurnResult]:
    """Yield the results of a case's turns."""
    lang, user = case.lang or None, case.user or None
    for turn in case.turns:
        played = await play(assistant, turn.user, lang=lang, thread=thread, user=user, device=case.device)
        differences = turn.expect.differences(played)
        yield TurnResult(
            user=turn.user,
            answer=played.answer,
            trace=played.trace,
            problems=tuple(difference.problem for difference in differences),
            differences=tuple(differences),
            calls=played.calls,
            tokens=played.tokens,
            seconds=round(played.seconds, 3),
            price=played.price(prices),
        )


async def run_files(settings: Settings, order: RunOrder, tell: Tell) -> tuple[str, LabRun]:
    """Play cases of the lab's folder, keep the run there, and return its name and itself.

    Raises ConfigError, UsageError: as `run_cases`; or a file is wrong.
    """
    folder = lab_folder()
    mocks = [folder.read("mocks", name, Mock) for name in order.mocks]
    cases = await asyncio.to_thread(folder.every, "cases", Case, *order.cases)
    run = await run_cases(settings, cases, order, mocks, tell)
    return await asyncio.to_thread(folder.add, "runs", named_after(run.begun.partition("+")[0]), run), run


async def judged(settings: Settings, model: str, case: Case, result: CaseResult) -> CaseResult:
    """Return the result with a model's verdict on each criterion: a good result meets all of them."""
    talk = "\n".join(f"user: {turn.user}\nassistant: {turn.answer}" for turn in result.turns)
    lang = case.lang or settings.app_lang
    criteria = case.criteria or [sentence(PHRASES, "any_criterion", lang)]
    judgements = [await _judgement(settings, model, criterion, talk, lang) for criterion in criteria]
    verdicts = {judgement.good for judgement in judgements}
    is_good = False if False in verdicts else None if None in verdicts else True
    reasons = (judgement.reason for judgement in judgements if judgement.good is is_good)
    reason = " ".join(filter(None, reasons))[:500]
    return result.model_copy(update={"model": is_good, "reason": reason, "judgements": tuple(judgements)})


async def _judgement(settings: Settings, model: str, criterion: str, talk: str, lang: str) -> Judgement:
    question = prompt("lab/judged", lang, criterion=criterion, talk=talk)
    try:
        opinion = await ask(settings, model, prompt("lab/judge", lang), question)
    except UsageError as failure:
        opinion = str(failure)
    if not (verdict := VERDICT.match(opinion)):
        return Judgement(criterion=criterion, reason=opinion[:500])
    reason = opinion[verdict.end() :]
    score = SCORE.match(opinion, verdict.end("word"))
    if score:
        reason = opinion[score.end() :]
    points = float(score["points"].replace(",", ".")) if score else None
    return Judgement(criterion=criterion, good=verdict["word"].lower() == "yes", score=points, reason=reason[:500])
