"""`calibrate`: fit the gate to what this installation has logged."""

from dataclasses import asdict
from typing import Annotated

import typer

from agents.conversation.gate.trained import calibrate as fit
from agents.conversation.gate.trained import weights
from agents.memory import open_memory
from agents.toolkit.commands import CommandResult
from app.composition.gate_thresholds import drop_thresholds, load_thresholds, store_thresholds
from app.sentences import say
from app.settings import read_settings

Reset = Annotated[bool, typer.Option("--reset", help="Go back to the thresholds that come with the application.")]


async def calibrate(*, reset: Reset = False) -> CommandResult:
    """Fit the gate to the verdicts this installation has logged."""
    settings, model = read_settings(), weights()
    async with open_memory(settings.database_url) as memory:
        used = await load_thresholds(memory.store) or model.thresholds
        if reset:
            await drop_thresholds(memory.store)
            return CommandResult(asdict(model.thresholds), [say("calibration_dropped", settings.app_lang)])
        chosen = fit(await memory.transcript.guesses(model.name), model.thresholds, used)
        await store_thresholds(memory.store, chosen)
    limits = chosen.thresholds
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
    return CommandResult(facts, [say("calibrated", settings.app_lang, **facts, **percent)])
