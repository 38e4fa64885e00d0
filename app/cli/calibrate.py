"""`python -m app calibrate`: fit the gate to what this installation has logged."""

from argparse import Namespace
from dataclasses import asdict

from agents.conversation.gate.calibration import calibrate as fit
from agents.conversation.gate.trained import weights
from agents.memory import open_memory
from app.cli.stdout import print_result
from app.composition.gate_thresholds import drop_thresholds, load_thresholds, store_thresholds
from app.sentences import say
from app.settings import Settings


async def calibrate(options: Namespace, settings: Settings) -> int:
    """Choose thresholds for the gate from the log, store them, and say what changes.

    Raises:
        UsageError: the log is too short.
    """
    model = weights()
    async with open_memory(settings.database_url) as memory:
        used = await load_thresholds(memory.store) or model.thresholds
        if options.reset:
            await drop_thresholds(memory.store)
            return print_result(options, asdict(model.thresholds), [say("calibration_dropped", settings.app_lang)])
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
    return print_result(options, facts, [say("calibrated", settings.app_lang, **facts, **percent)])
