"""The clients that people have: each talks, streams, and meets a refusal and a failed model in its own words."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ModelUnavailable
from app.assistant import Assistant
from app.testing.script import Call, Script
from tests.doors.http.test_examples import output_of
from tests.plugins.openai_api.test_structured import WRITE
from tests.support.http_door import served
from tests.support.node import installed, needs_node, node

LINES: Sequence[Any] = (
    "All is well.",
    "One two.",
    "Fine.",
    Call(WRITE, {"mood": "fine"}),
    ModelUnavailable("busy", "m"),
)
"""The model's lines for each client: whole, as a stream, in words and then in a form, and none."""
MET = {"whole": "All is well.", "streamed": "One two.", "formed": {"mood": "fine"}, "refused": 400, "failed": 503}
"""The results for each client: two answers, and a forced tool, are refused; a failed model is a status."""
TOLD = """
const met = {};
const fault = async (act) => { try { await act(); return "no fault"; } catch (error) { return FAULT; } };
"""
CLIENTS = {
    ("openai@6", "zod@4"): """
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
const client = new OpenAI({ baseURL: "ADDRESS/v1", apiKey: "none", maxRetries: 0 });
const asked = { model: "dialog-supervisor", messages: [{ role: "user", content: "how are you?" }] };
await client.models.retrieve("dialog-supervisor");
met.whole = (await client.chat.completions.create(asked)).choices[0].message.content;
met.streamed = "";
for await (const part of await client.chat.completions.create({ ...asked, stream: true }))
  met.streamed += part.choices[0]?.delta?.content ?? "";
const form = zodResponseFormat(z.object({ mood: z.string() }), "mood");
met.formed = (await client.chat.completions.parse({ ...asked, response_format: form })).choices[0].message.parsed;
met.refused = await fault(() => client.chat.completions.create({ ...asked, n: 2 }));
met.failed = await fault(() => client.chat.completions.create(asked));
""",
    ("ai@6", "@ai-sdk/openai-compatible@2", "zod@4"): """
import { generateObject, generateText, streamText, tool } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { z } from "zod";
const provider = createOpenAICompatible({ name: "ours", baseURL: "ADDRESS/v1", supportsStructuredOutputs: true });
const asked = { model: provider("dialog-supervisor"), prompt: "how are you?", maxRetries: 0 };
met.whole = (await generateText(asked)).text;
met.streamed = await streamText(asked).text;
met.formed = (await generateObject({ ...asked, schema: z.object({ mood: z.string() }) })).object;
const tools = { look: tool({ inputSchema: z.object({}) }) };
met.refused = await fault(() => generateText({ ...asked, tools, toolChoice: "required" }));
met.failed = await fault(() => generateText(asked));
""",
    ("@langchain/openai@1", "@langchain/core@1", "zod@4"): """
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
const model = new ChatOpenAI({
  model: "dialog-supervisor", apiKey: "none", maxRetries: 0, configuration: { baseURL: "ADDRESS/v1" },
});
met.whole = (await model.invoke("how are you?")).content;
met.streamed = "";
for await (const part of await model.stream("how are you?")) met.streamed += part.content;
const form = z.object({ mood: z.string() });
met.formed = await model.withStructuredOutput(form, { method: "jsonSchema" }).invoke("how are you?");
const forced = model.withStructuredOutput(form, { method: "functionCalling" });
met.refused = await fault(() => forced.invoke("how are you?"));
met.failed = await fault(() => model.invoke("how are you?"));
""",
}
"""Programs by the packages of npm that they need."""
PYTHON = """
import json, os
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from pydantic import BaseModel

class Mood(BaseModel):
    mood: str

litellm.suppress_debug_info = True
asked = dict(model="openai/dialog-supervisor", api_base="ADDRESS/v1", api_key="none", max_retries=0,
             messages=[{"role": "user", "content": "how are you?"}])
def fault(**more):
    try:
        return litellm.completion(**asked, **more) and "no fault"
    except Exception as failure:
        return failure.status_code
met = {"whole": litellm.completion(**asked).choices[0].message.content}
parts = litellm.completion(**asked, stream=True)
met["streamed"] = "".join(part.choices[0].delta.content or "" for part in parts)
formed = litellm.completion(**asked, response_format=Mood)
met["formed"] = json.loads(formed.choices[0].message.content)
met["refused"], met["failed"] = fault(n=2), fault()
print(json.dumps(met))
"""


@needs_node
@pytest.mark.slow
async def test_clients_in_javascript(assistant: Assistant, script: Script, tmp_path: Path) -> None:
    """The clients of OpenAI, of the AI SDK and of LangChain take whole answers and streams, and see each fault."""
    await installed(tmp_path, *sorted({package for packages in CLIENTS for package in packages}))
    async with served(assistant) as url:
        for packages, program in CLIENTS.items():
            script.add(supervisor=[*LINES])
            beginning = TOLD.replace("FAULT", "error.statusCode ?? error.status ?? error.lc_error_code ?? `${error}`")
            imports, acts = program.split("\nconst ", 1)
            text = f"{imports}\n{beginning}\nconst {acts}\nconsole.log(JSON.stringify(met));"
            assert json.loads(await node(text.replace("ADDRESS", url), tmp_path)) == MET, packages


@pytest.mark.slow
async def test_litellm(assistant: Assistant, script: Script) -> None:
    """LiteLLM does the same; its user falls back on another model if this one fails."""
    pytest.importorskip("litellm")
    script.add(supervisor=[*LINES])
    async with served(assistant) as url:
        output = await output_of(sys.executable, "-c", PYTHON.replace("ADDRESS", url))
    assert json.loads(output.splitlines()[-1]) == MET
