"""`calibrate`: fit the gate to the verdicts this installation has logged."""

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.conversation.gate import weights
from app.composition.thresholds import THRESHOLDS_ITEM, load_thresholds
from app.databases import backend_of
from app.plugins.calibration.thresholds import fitted
from app.settings import read_settings
from prompts import sentence

command_line = typer.Typer()
_say = partial(sentence, "calibration/phrases")
Reset = Annotated[bool, typer.Option("--reset", help="Go back to the thresholds that come with the application.")]


@command_line.command()
async def calibrate(*, reset: Reset = False) -> CommandResult:
    """Fit the gate to the verdicts this installation has logged."""
    settings, model = read_settings(), weights()
    async with backend_of(settings.database_url).open() as memory:
        used = await load_thresholds(memory.store) or model.thresholds
        if reset:
            await memory.store.adelete(*THRESHOLDS_ITEM)
            return CommandResult(asdict(model.thresholds), [_say("dropped", settings.app_lang)])
        chosen = fitted(await memory.transcript.guesses(model.name), model.thresholds, used)
        limits = chosen.thresholds
        kept = {"model": model.name, "low": limits.low, "high": limits.high}
        await memory.store.aput(*THRESHOLDS_ITEM, {**kept, "turns": chosen.turns, "switches": chosen.switches})
    facts = {
        "turns": chosen.turns,
        "switches": chosen.switches,
        "low_before": round(used.low, 2),
        "low": round(limits.low, 2),
        "high_before": round(used.high, 2),
        "high": round(limits.high, 2),
        "spared_before": round(chosen.spared_before, 3),
        "spared": round(chosen.spared, 3),
    }
    percent = {"spared_percent": f"{chosen.spared:.0%}", "before_percent": f"{chosen.spared_before:.0%}"}
    return CommandResult(facts, [_say("calibrated", settings.app_lang, **facts, **percent)])
