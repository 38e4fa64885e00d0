"""CopilotKit in a browser, over its own runtime: its chat talks, leaves a question, and answers the next one.

Its packages take minutes to install. The test runs where COPILOTKIT names a folder with `node_modules`, made by
`npm install --ignore-scripts @copilotkit/runtime@1.75.0 @copilotkit/react-core@1.74.0 react@19 react-dom@19 esbuild`.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from app.assistant import Assistant
from app.testing.script import Script
from tests.plugins.agui.test_runs import BEGIN, DELETION
from tests.support.chromium import ARGS, CHROMIUM
from tests.support.http_door import served
from tests.support.node import NODE, needs_node, node

# A machine that does much besides is slow, and no fault.
expect.set_options(timeout=120_000)
PACKAGES = Path(os.environ.get("COPILOTKIT", "none")).absolute() / "node_modules"
PAGE = """
import { createRoot } from "react-dom/client";
import { CopilotKitProvider, CopilotChat, useInterrupt } from "@copilotkit/react-core/v2";
const Question = () => {
  useInterrupt({ agentId: "assistant", render: ({ resolve, cancel }) => <p>
    <button onClick={() => resolve({ approved: true })}>yes</button><button onClick={() => cancel()}>leave</button>
  </p> });
  return null;
};
createRoot(document.body).render(<CopilotKitProvider runtimeUrl="/copilotkit">
  <Question /><CopilotChat agentId="assistant" threadId="ann" />
</CopilotKitProvider>);
"""
BUNDLE = """
import { buildSync } from "esbuild";
buildSync({ entryPoints: ["page.jsx"], bundle: true, jsx: "automatic", outfile: "page.js", logLevel: "error",
  loader: { ".woff2": "empty", ".woff": "empty", ".ttf": "empty" },
  define: { "process.env.NODE_ENV": '"production"' } });
"""
RUNTIME = """
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
const runtime = new CopilotRuntime({ agents: { assistant: new HttpAgent({ url: "ADDRESS/agui" }) } });
const copilotkit = createCopilotNodeListener({ runtime, basePath: "/copilotkit" });
const script = readFileSync("page.js");
const server = createServer((request, response) => {
  if (request.url.startsWith("/copilotkit")) return copilotkit(request, response);
  const is_script = request.url === "/page.js";
  response.setHeader("Content-Type", is_script ? "text/javascript" : "text/html; charset=utf-8");
  response.end(is_script ? script : '<!doctype html><body></body><script type=module src="/page.js"></script>');
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


@needs_node
@pytest.mark.slow
@pytest.mark.needs("planner")
@pytest.mark.skipif(not PACKAGES.is_dir(), reason="COPILOTKIT names no folder with its packages")
async def test_a_talk_in_its_chat(assistant: Assistant, script: Script, tmp_path: Path) -> None:
    """A question that is left changes nothing; the next one is answered, and its tool runs once."""
    script.add(supervisor=[BEGIN], planner=[*DELETION, "Left.", DELETION[-1], "Gone."])
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    (tmp_path / "page.jsx").write_text(PAGE, "utf-8")
    await node(BUNDLE, tmp_path)
    async with served(assistant) as address, runtime(tmp_path, address) as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        await talk(await browser.new_page(), url)
        await browser.close()


@asynccontextmanager
async def runtime(folder: Path, address: str) -> AsyncIterator[str]:
    """Serve the page and CopilotKit's runtime, which speaks to the assistant; yield the address."""
    (folder / "runtime.mjs").write_text(RUNTIME.replace("ADDRESS", address), "utf-8")
    assert NODE is not None
    own = {**os.environ, "COPILOTKIT_TELEMETRY_DISABLED": "true"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(NODE, "runtime.mjs", cwd=folder, env=own, stdout=pipe)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()


async def talk(page: Page, address: str) -> None:
    """Talk in the chat."""
    page.set_default_timeout(120_000)
    await page.goto(address)
    words = page.get_by_role("textbox")

    async def says(text: str, answer: str) -> None:
        await words.fill(text)
        await words.press("Enter")
        await expect(page.get_by_text(answer, exact=True)).to_be_visible()

    await says("add milk and tea", "Noted.")
    await says("delete both", "Delete from your list (2): 1. milk; 2. tea? Yes or no?")
    await page.get_by_role("button", name="leave", exact=True).click()
    await expect(page.get_by_role("button", name="leave", exact=True)).to_have_count(0)
    await says("show my list", "tea")
    await words.fill("delete both of them")
    await words.press("Enter")
    await page.get_by_role("button", name="yes", exact=True).click()
    await expect(page.get_by_text("Gone.")).to_be_visible()
