"""Whose code the CPU time of a turn goes to, as a profile has it."""

import cProfile
import pstats
import re
import time
from collections import defaultdict
from typing import Any

OURS = ("agents", "app", "dialogs", "observers", "prompts")
PACKAGES = ("langgraph", "langchain_core", "asyncio", "pydantic", "aiosqlite", "benchmarks")
OTHER = "other"
Function = tuple[str, int, str]


def profile() -> cProfile.Profile:
    """Return a profile that counts the CPU time of the event loop's thread, not what it waits."""
    return cProfile.Profile(time.thread_time)


def shares(taken: cProfile.Profile) -> dict[str, float]:
    """Return each package's part of the time, from 0 to 1; what is built in counts for who calls it."""
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
    """Return the package that a file of code belongs to."""
    names = re.split(r"[/\\]", file)[:-1]
    if "benchmarks" in names:
        return "benchmarks"
    if name := next((name for name in PACKAGES if name in names), None):
        return name
    here = not {"site-packages", "lib"} & set(names) and any(name in OURS for name in names[-3:])
    return "application" if here else OTHER
