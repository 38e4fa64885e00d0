"""The thresholds of the gate that `python -m app calibrate` chose for this installation, in the database."""

import logging

from langgraph.store.base import BaseStore

from agents.conversation.gate.trained import Calibration, Thresholds, weights

ITEM = ("application", "gate"), "thresholds"
LOG = logging.getLogger(__name__)


async def load_thresholds(store: BaseStore) -> Thresholds | None:
    """Return the thresholds of this installation; None if it has none, or they belong to other weights."""
    item = await store.aget(*ITEM)
    if item is None:
        return None
    if item.value["model"] != weights().name:
        LOG.warning("the gate has new weights since it was calibrated; run `python -m app calibrate` again")
        return None
    return Thresholds(item.value["low"], item.value["high"])


async def store_thresholds(store: BaseStore, chosen: Calibration) -> None:
    """Write thresholds down; they are used from the next start on."""
    limits = chosen.thresholds
    value = {"model": weights().name, "low": limits.low, "high": limits.high, "turns": chosen.turns}
    await store.aput(*ITEM, {**value, "switches": chosen.switches})


async def drop_thresholds(store: BaseStore) -> None:
    """Go back to the thresholds that come with the application."""
    await store.adelete(*ITEM)
