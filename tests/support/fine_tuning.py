"""Checks of fine-tuning data: a line is a chat in OpenAI's form, and holds no identifier of the shop."""

import json
from pathlib import Path
from typing import Any

from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(list[ChatCompletionToolParam])


def check_chat(line: dict[str, Any]) -> None:
    """Check a line against OpenAI's own types, and that the result of each call follows the call."""
    messages = line["messages"]
    MESSAGES.validate_python(messages)
    TOOLS.validate_python(line["tools"])
    assert messages[0]["role"] == "system"
    assert messages[-1]["role"] == "assistant"
    offered = {tool["function"]["name"] for tool in line["tools"]}
    open_calls: list[str] = []
    for message in messages[:-1]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert open_calls == []
        assert message["role"] in ("system", "user", "assistant")
        open_calls = [call["id"] for call in message.get("tool_calls", [])]
    assert open_calls == []
    for call in messages[-1].get("tool_calls", []):
        assert call["function"]["name"] in offered
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert messages[-1].get("tool_calls") or messages[-1]["content"]


def shop_identifiers() -> set[str]:
    """Return the identifiers of the shop's customers, and of all its orders, items and products."""
    shop = json.loads(Path("dialogs/orders/catalogue.json").read_text("utf-8"))
    orders, users = shop["orders"].values(), shop["users"].values()
    real = {*shop["orders"], *shop["users"], *shop["products"]}
    real |= {item["item_id"] for order in orders for item in order["items"]}
    real |= {id for order in orders for parcel in order["fulfillments"] for id in parcel["tracking_id"]}
    return real | {id for each in users for id in each["payment_methods"]} | {each["email"] for each in users}
