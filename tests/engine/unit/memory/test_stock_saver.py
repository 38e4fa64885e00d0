"""The file is LangGraph's: its own saver reads it, with our serializer."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agents.memory.history_blocks import BLOCK, HistoryBlocks, references
from agents.memory.serializer import Packing
from app.assistant.run import config_of
from app.testing import Chat


class FileSerializer(Packing):
    """Reads the checkpoints of our file, whose blocks of messages stand in a table of ours."""

    def __init__(self, blocks: Mapping[bytes, bytes]) -> None:
        super().__init__()
        self._blocks, self._packing = blocks, Packing()

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return the value of a kind and bytes."""
        blocks = [self._blocks[digest] for digest in references(*data)]
        return HistoryBlocks(self._packing).unpack(*data, blocks, self._packing)


@pytest.mark.sqlite
async def test_the_stock_saver_reads_the_latest_state_of_every_thread(chat: Chat) -> None:
    """Long histories, whose blocks stand in a table of ours, and short ones; nothing else is converted."""
    turns = {"ann": BLOCK, "ben": 2}
    for thread, count in turns.items():
        chat.expects(supervisor=[f"Answer {number}." for number in range(count)])
        await chat.says(*(f"question {number}" for number in range(count)), thread=thread)
    async with chat.assistant() as assistant:
        ours = {thread: (await assistant.graph.aget_state(config_of(thread))).values for thread in turns}
    with closing(sqlite3.connect(chat.path)) as database:
        blocks = dict(database.execute("SELECT digest, value FROM blocks").fetchall())
    assert blocks
    async with AsyncSqliteSaver.from_conn_string(str(chat.path)) as stock:
        stock.serde = FileSerializer(blocks)
        for thread in turns:
            stored = await stock.aget_tuple(config_of(thread))
            assert stored is not None
            assert stored.checkpoint["channel_values"] == ours[thread]
