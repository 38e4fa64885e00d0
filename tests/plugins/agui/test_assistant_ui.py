"""assistant-ui in a browser: its page of another origin talks, answers a question, edits, and changes the subject."""

from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from app.assistant import Assistant
from app.settings import Settings
from app.testing.script import Script
from tests.plugins.agui.test_runs import BEGIN, DELETION
from tests.support.chromium import ARGS, CHROMIUM
from tests.support.http_door import served
from tests.support.http_service import Answer, Service
from tests.support.node import installed, needs_node, node

# A machine that does much besides is slow, and no fault.
expect.set_options(timeout=120_000)
PACKAGES = ("@assistant-ui/react@0.15", "@assistant-ui/react-ag-ui@0.0.57", "react@19", "react-dom@19", "esbuild")
PAGE = """
import { createRoot } from "react-dom/client";
import { HttpAgent } from "@ag-ui/client";
import * as ui from "@assistant-ui/react";
import * as agui from "@assistant-ui/react-ag-ui";
const agent = new HttpAgent({ url: "ADDRESS/agui", threadId: "ann" });
const kept = () => JSON.parse(localStorage.kept ?? '{ "messages": [] }',
  (key, value) => key === "createdAt" ? new Date(value) : value);
const history = {
  load: async () => kept(),
  append: async (item) => { localStorage.kept = JSON.stringify({ messages: [...kept().messages, item] }); },
};
const User = () => <ui.MessagePrimitive.Root>
  <ui.MessagePrimitive.Parts /><ui.ActionBarPrimitive.Edit>edit</ui.ActionBarPrimitive.Edit>
</ui.MessagePrimitive.Root>;
const Edit = () => <ui.ComposerPrimitive.Root>
  <ui.ComposerPrimitive.Input id="edited" /><ui.ComposerPrimitive.Send>save</ui.ComposerPrimitive.Send>
</ui.ComposerPrimitive.Root>;
const Assistant = () => <ui.MessagePrimitive.Root><ui.MessagePrimitive.Parts /></ui.MessagePrimitive.Root>;
const Question = () => {
  const answer = agui.useAgUiSubmitInterruptResponses(), steer = agui.useAgUiSteerAway();
  return agui.useAgUiInterrupts().map(({ id }) => <p key={id}>
    <button onClick={() => answer([{ interruptId: id, status: "resolved", payload: { approved: true } }])}>yes</button>
    <button onClick={() => steer("yes, something else")}>else</button>
  </p>);
};
const App = () => <ui.AssistantRuntimeProvider runtime={agui.useAgUiRuntime({ agent, adapters: { history } })}>
  <ui.ThreadPrimitive.Messages components={{ UserMessage: User, AssistantMessage: Assistant, EditComposer: Edit }} />
  <Question />
  <ui.ComposerPrimitive.Root><ui.ComposerPrimitive.Input id="words" /></ui.ComposerPrimitive.Root>
</ui.AssistantRuntimeProvider>;
createRoot(document.body).render(<App />);
"""
BUNDLE = """
import { buildSync } from "esbuild";
buildSync({ entryPoints: ["page.jsx"], bundle: true, jsx: "automatic", outfile: "page.js", logLevel: "error",
  define: { "process.env.NODE_ENV": '"production"' } });
"""


@needs_node
@pytest.mark.slow
@pytest.mark.needs("planner")
async def test_a_talk_in_its_page(assistant: Assistant, script: Script, tmp_path: Path) -> None:
    """A question is answered once, an edit takes that back, and a change of subject leaves the next one."""
    script.add(supervisor=[BEGIN, BEGIN], planner=[*DELETION, "Gone.", "Left.", DELETION[-1], "Then else."])
    await installed(tmp_path, *PACKAGES)
    async with Service.open() as host, async_playwright() as playwright:
        settings = Settings(allowed_origins=(host.url,), _env_file=None)
        async with served(assistant, settings=settings) as url:
            (tmp_path / "page.jsx").write_text(PAGE.replace("ADDRESS", url), "utf-8")
            await node(BUNDLE, tmp_path)
            script_text = (tmp_path / "page.js").read_text("utf-8")
            html = f"<!doctype html><body></body><script type=module>{script_text}</script>"
            host.answers.append(Answer(html.encode(), kind="text/html; charset=utf-8"))
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            await talk(await browser.new_page(), host.url)
            await browser.close()


async def talk(page: Page, address: str) -> None:
    """Talk on the page."""
    await page.goto(address)

    async def sees(text: str) -> None:
        await expect(page.get_by_text(text)).to_be_visible(timeout=60_000)

    async def says(words: str, answer: str) -> None:
        await page.fill("#words", words)
        await page.press("#words", "Enter")
        await sees(answer)

    await says("add milk and tea", "Noted.")
    await says("delete both", "Yes or no?")
    await page.get_by_role("button", name="yes", exact=True).click()
    await sees("Gone.")
    await page.reload()
    await sees("Gone.")
    await page.get_by_role("button", name="edit").nth(1).click()
    await page.fill("#edited", "please leave them")
    await page.get_by_role("button", name="save", exact=True).click()
    await sees("Left.")
    await expect(page.get_by_text("Gone.")).to_have_count(0)
    await says("delete both of them", "Yes or no?")
    await page.get_by_role("button", name="else", exact=True).click()
    await sees("Then else.")
    await says("show my list", "1. milk 2. tea")
