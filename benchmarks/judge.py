"""Judge a model: play labelled turns through the whole graph, and report its precision, recall, calls and price.

`python -m benchmarks.judge --model openai:gpt-x --data DIR`: any name that LLM_MODEL takes; keys, addresses and
parameters come from the settings (`.env`). Without `--model` the settings name the models, role by role. `--model
labels` calls no model: it answers as the labels say, which counts the calls of a perfect model.

DIR may hold `star_switch`, `sgd_switch`, `massive_switch` (changes of subject), `tools_clinc` and `tools_massive`
(wishes for one of many tools); our own wishes, corrections and double wishes (`judge_wishes.toml`) are always played.

Before each turn of a recorded conversation the thread is set back to the recorded messages, so one mistake is not
counted twice. "wanted" are the switches or calls that the labels want; "precision" is the share of those made that
were right, "recall" the share of those wanted that were made. "deaf" are observers' calls that failed. "price" needs
`--price MODEL=INPUT/OUTPUT`, for a million tokens; a cached token costs a tenth unless a third number says otherwise.

Exit codes: 0 all turns were answered, 1 some were not, 2 wrong options or settings, 75 the model is busy, 76 it
refuses the key, 77 it cannot be reached; with these three it stops early and prints what it has. So it does at Ctrl-C
and when it is told to end.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.errors import ConfigError
from agents.memory.sqlite_file import SqliteBackend
from agents.models import Models
from app.composition import plugins_found, tables_of
from app.prices import Price, read_prices
from app.process.exit_codes import FAILED, INTERRUPTED, TROUBLE
from app.settings import Settings, read_settings
from benchmarks.judge_cases import SETS, Talk, sets_in, talks_of
from benchmarks.judge_labels import LABELS, Labels
from benchmarks.judge_report import rows_of
from benchmarks.judge_speakers import prompt_files, prompts_with
from benchmarks.judge_stage import Outcome, Stage
from benchmarks.report import arguments, show

USAGE = 2
PATIENCE = 5
"""Failed turns in a row after which the run gives a model up."""
STEPS = 20
"""Number of progress messages for each set."""


@dataclass
class Judge:
    """Play sets of labelled conversations, several at a time, until the model fails too often."""

    data: Path
    settings: Settings
    models: Models | Labels
    at_once: int
    outcomes: list[Outcome] = field(default_factory=list)
    given_up: str | None = None
    """The reason for giving the model up: the code of the last failure."""
    _failures: int = 0

    async def play(self, name: str, talks: Sequence[Talk]) -> None:
        """Play the conversations of a set."""
        total, side_by_side = sum(len(talk.cases) for talk in talks), asyncio.Semaphore(self.at_once)
        every, before = max(1, total // STEPS), len(self.outcomes)
        with tempfile.TemporaryDirectory() as folder, prompts_with(prompt_files(self.data, name)):
            url, tables = f"sqlite:///{Path(folder) / 'judge.db'}", tables_of(plugins_found())
            async with SqliteBackend(url).open(tables=tables) as memory:
                stage = Stage(self.data, name, self.settings, memory, self.models)

                async def played(talk: Talk) -> None:
                    async with side_by_side:
                        if self.given_up:
                            return
                        async for outcome in stage.play(talk):
                            self._note(outcome)
                            if (done := len(self.outcomes) - before) % every == 0 or done == total:
                                print(f"{name}: {done} of {total} turns", file=sys.stderr, flush=True)
                            if self.given_up:
                                return

                await asyncio.gather(*map(played, talks))

    def _note(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._failures = self._failures + 1 if outcome.failed else 0
        if outcome.failed == "key_refused" or self._failures >= PATIENCE:
            self.given_up = outcome.failed

    @property
    def exit_code(self) -> int:
        """Return 0 if every turn was answered, else the code of the failure."""
        if self.given_up:
            return TROUBLE.get(self.given_up, FAILED)
        return FAILED if any(outcome.failed for outcome in self.outcomes) else 0


def main(options: Sequence[str] | None = None) -> int:
    """Judge the model that the options (None: those of the command line) name; return the exit code."""
    chosen = _parser().parse_args(options)
    try:
        prices = read_prices(chosen.price)
        settings = read_settings()
        models = Labels() if chosen.model == LABELS else settings.models(chosen.model)
        sets = _sets(chosen)
        talks = {name: talks_of(chosen.data, name, chosen.part, chosen.limit) for name in sets}
    except ConfigError as wrong:
        print(f"benchmarks.judge: {wrong}", file=sys.stderr)
        return USAGE
    judge = Judge(chosen.data, settings, models, chosen.at_once)
    try:
        asyncio.run(_play(judge, talks))
    except (KeyboardInterrupt, asyncio.CancelledError):
        _report(judge, prices, chosen)
        return INTERRUPTED
    _report(judge, prices, chosen)
    if judge.given_up:
        print(f"benchmarks.judge: stopped, the model failed: {judge.given_up}", file=sys.stderr)
    return judge.exit_code


async def _play(judge: Judge, talks: dict[str, list[Talk]]) -> None:
    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    for name, some in talks.items():
        if not judge.given_up:
            await judge.play(name, some)


def _report(judge: Judge, prices: dict[str, Price], chosen: argparse.Namespace) -> None:
    if chosen.turns:
        chosen.turns.write_text(
            "".join(f"{json.dumps(judged.plain(), ensure_ascii=False)}\n" for judged in judge.outcomes), "utf-8"
        )
    show(rows_of(judge.outcomes, prices), as_json=chosen.json)


def _sets(chosen: argparse.Namespace) -> list[str]:
    if not chosen.data.is_dir():
        raise ConfigError(f"--data: there is no folder {chosen.data}")
    present = sets_in(chosen.data)
    if missing := [name for name in chosen.set or [] if name not in present]:
        raise ConfigError(f"--set: {', '.join(missing)} is not in {chosen.data}")
    return chosen.set or present


def _parser() -> argparse.ArgumentParser:
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", help='a name as in LLM_MODEL, or "labels" (default: the models of the settings)')
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder of the labelled sets")
    parser.add_argument("--set", action="append", choices=SETS, help="play only this set; may be repeated")
    parser.add_argument("--part", default="dev", help="the files to play: dev (the default), train")
    parser.add_argument("--limit", type=_positive, metavar="N", help="turns of each set, language and kind, at most")
    parser.add_argument("--at-once", type=_positive, default=4, metavar="N", help="conversations at a time (4)")
    parser.add_argument("--price", action="append", default=[], metavar="MODEL=INPUT/OUTPUT", help="may be repeated")
    parser.add_argument("--turns", type=Path, metavar="FILE", help="write a JSON line for each turn")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, found {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
