"""The thresholds of the gate that this installation has fitted to its own turns."""

import logging

from langgraph.store.base import BaseStore

from agents.conversation.gate import Thresholds, weights

LOG = logging.getLogger(__name__)
THRESHOLDS_ITEM = ("application", "gate"), "thresholds"
"""The place of the fitted thresholds: `model`, `low`, `high`, and their `turns` and `switches`."""


async def load_thresholds(store: BaseStore) -> Thresholds | None:
    """Return the thresholds of this installation; None if it has none, or they belong to other weights."""
    item = await store.aget(*THRESHOLDS_ITEM)
    if item is None:
        return None
    if item.value["model"] != weights().name:
        LOG.warning("the gate has new weights since it was calibrated; calibrate it again")
        return None
    return Thresholds(item.value["low"], item.value["high"])
