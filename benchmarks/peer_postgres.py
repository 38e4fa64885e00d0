"""A LangGraph application on PostgreSQL as it comes: LangChain's agent with `AsyncPostgresSaver`, one connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from pydantic import SecretStr

from benchmarks.crowd import Say

RULES = "You are a friendly assistant. Answer in one sentence."


@asynccontextmanager
async def opened(url: str, model: str) -> AsyncIterator[Say]:
    """Open the application on an empty database. It keeps the messages of each thread, and nothing else."""
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        chat = ChatOpenAI(model="slow", base_url=model, api_key=SecretStr("key"))
        agent: Any = create_agent(chat, system_prompt=RULES, checkpointer=saver)

        async def say(thread: str, text: str) -> None:
            place = {"configurable": {"thread_id": thread}}
            async for _ in agent.astream({"messages": [HumanMessage(text)]}, place, stream_mode="messages"):
                pass

        yield say
