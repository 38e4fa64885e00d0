"""The rule-based model streams as real ones do."""

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage

from app.plugins.standin import RulesModel
from tests.support.rules_room import Room, rules_prompt


async def test_streams_word_by_word() -> None:
    """The streamed message is the whole one, in pieces, and its last piece carries the reason for the end."""
    model, prompt = RulesModel().bind_tools(Room().tools("supervisor")), rules_prompt([HumanMessage("hello")])
    whole = await model.ainvoke(prompt)
    merged, count = AIMessageChunk(content=""), 0
    async for piece in model.astream(prompt):
        assert isinstance(piece, AIMessageChunk)
        merged, count = merged + piece, count + 1
    assert count > 5
    assert merged.content == whole.content
    assert merged.response_metadata["finish_reason"] == "stop"
    assert merged.response_metadata["model_name"] == "local:rules"


async def test_streams_tool_calls() -> None:
    """The same prompt makes the same calls, streamed or not, and every call has an id of its own."""
    model = RulesModel().bind_tools(Room().tools("supervisor"))
    asked: list[BaseMessage] = [HumanMessage("what time is it and what can you do", id="m1")]
    merged: AIMessageChunk | None = None
    async for piece in model.astream(rules_prompt(asked)):
        assert isinstance(piece, AIMessageChunk)
        merged = piece if merged is None else merged + piece
    assert merged is not None
    whole = await model.ainvoke(rules_prompt(asked))
    assert isinstance(whole, AIMessage)
    calls = [*merged.tool_calls, *whole.tool_calls]
    assert [entry["name"] for entry in calls] == ["current_time", "abilities"] * 2
    assert [entry["args"] for entry in merged.tool_calls] == [entry["args"] for entry in whole.tool_calls]
    assert len({entry["id"] for entry in calls}) == 4
    assert merged.response_metadata["finish_reason"] == "tool_calls"


async def test_notes_survive_streaming() -> None:
    """What the next turn needs to know travels with the streamed message too."""
    prompt = rules_prompt([HumanMessage("change the language")], tools=["change_language"])
    model = RulesModel().bind_tools(Room().tools("supervisor"))
    merged: AIMessageChunk | None = None
    async for piece in model.astream(prompt):
        assert isinstance(piece, AIMessageChunk)
        merged = piece if merged is None else merged + piece
    assert merged is not None
    assert merged.additional_kwargs["asks"] == {"tool": "change_language", "slot": "language", "args": {}}
