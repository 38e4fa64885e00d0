"""A2A: the official client in JavaScript gives the assistant tasks."""

import json
from pathlib import Path

import pytest

from agents.errors import ModelUnavailable
from app.assistant import Assistant
from app.testing.script import Script
from tests.support.http_door import served
from tests.support.node import installed, needs_node, node

pytest.importorskip("a2a", reason="a2a-sdk is missing: make install")

PEER = """
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
const client = await new ClientFactory().createFromUrl("ADDRESS");
const asked = (messageId) => ({ message: {
  messageId, role: Role.ROLE_USER, contextId: "talk", taskId: "", extensions: [], referenceTaskIds: [],
  parts: [{ content: { $case: "text", value: "how are you?" }, mediaType: "text/plain", filename: "" }],
} });
const words = (artifact) => artifact.parts.map((part) => part.content.value).join("");
const said = async (id) => (await client.sendMessage(asked(id))).artifacts.map(words).join();
const met = { whole: await said("1") }, pieces = [];
for await (const { payload } of client.sendMessageStream(asked("2")))
  if (payload.$case === "artifactUpdate") pieces.push(words(payload.value.artifact));
met.streamed = pieces.at(-1);
met.failed = TaskState[(await client.sendMessage(asked("3"))).status.state];
met.again = await said("3");
met.kept = await said("3");
console.log(JSON.stringify(met));
"""


@needs_node
@pytest.mark.slow
async def test_a_client_in_javascript(assistant: Assistant, script: Script, tmp_path: Path) -> None:
    """It takes answers whole and as streams; a task that failed is answered when its message comes again, once."""
    await installed(tmp_path, "@a2a-js/sdk@1")
    script.add(supervisor=["All is well.", "One two.", ModelUnavailable("busy", "m"), "Fine."])
    async with served(assistant) as url:
        met = json.loads(await node(PEER.replace("ADDRESS", url), tmp_path))
    assert (met["whole"], met["streamed"], met["failed"]) == ("All is well.", "One two.", "TASK_STATE_FAILED")
    assert (met["again"], met["kept"]) == ("Fine.", "Fine.")
