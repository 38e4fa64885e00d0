"""LangGraph's official suite for checkpointers, over the saver. `pytest -s` on this file prints its report."""

from collections.abc import AsyncGenerator

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from agents.memory.checkpointer import Saver
from app.databases import backend_of


async def test_the_saver_passes_the_whole_suite(database: str) -> None:
    """Every capability that the suite knows is there and passes, the extended ones among them."""

    @checkpointer_test(name="agents.memory.checkpointer.Saver, keep=all")
    async def saver() -> AsyncGenerator[Saver, None]:
        # Each capability begins with an empty database.
        async with backend_of(database).open(keep="all") as memory:
            await memory.saver.connection.execute("DELETE FROM checkpoints")
            await memory.saver.connection.execute("DELETE FROM writes")
            yield memory.saver

    report = await validate(saver)
    report.print_report()
    assert {name: result.failures for name, result in report.results.items() if result.failures} == {}
    assert {name for name, result in report.results.items() if result.passed} == {
        capability.value for capability in ALL_CAPABILITIES
    }
    assert sum(result.tests_passed for result in report.results.values()) >= 81
