"""Each package's share of a turn's CPU time, from a profile."""

import cProfile
import pstats
import re
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

OURS = ("agents", "app", "dialogs", "observers", "prompts")
PACKAGES = ("langgraph", "langchain_core", "asyncio", "pydantic", "aiosqlite", "benchmarks")
OTHER = "other"
Function = tuple[str, int, str]


def profile() -> cProfile.Profile:
    """Return a profile that counts the CPU time of the event loop's thread, not its waits."""
    return cProfile.Profile(time.thread_time)


def shares(taken: cProfile.Profile | str) -> dict[str, float]:
    """Return each package's part of a profile's time, or of one in a file, from 0 to 1.

    The time of a built-in function counts for its caller.
    """
    times: defaultdict[str, float] = defaultdict(float)
    timings: dict[Function, tuple[int, int, float, float, dict[Function, Any]]] = pstats.Stats(taken).stats  # type: ignore[attr-defined]
    for function, (_, _, own, _, callers) in timings.items():
        if function[0] == "~" and callers:
            for caller, (_, _, part, _) in callers.items():
                times[package(caller[0])] += part
        else:
            times[package(function[0])] += own
    total = sum(times.values())
    return {name: times[name] / total for name in ("application", *PACKAGES, OTHER)}


def package(file: str) -> str:
    """Return the package of a code file."""
    names = re.split(r"[/\\]", file)[:-1]
    if "benchmarks" in names:
        return "benchmarks"
    if name := next((name for name in PACKAGES if name in names), None):
        return name
    is_ours = any(Path(file).is_relative_to(ROOT / name) for name in OURS)
    return "application" if is_ours else OTHER
