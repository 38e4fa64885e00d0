"""The examples of docs/http.md, word for word, against a server."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from agents.models import Models
from agents.models.factory import Endpoint, make_model
from tests.support.http_door import served
from tests.support.node import installed, needs_node, node
from tests.support.pages import page
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import stage

ADDRESS = "http://127.0.0.1:8000"
BROWSER = f"""
import {{ EventSource as Stream }} from "eventsource";
globalThis.EventSource = class extends Stream {{
  constructor(path) {{ super(new URL(path, "{ADDRESS}")); }}
}};
"""
"""A browser's features that Node.js lacks: event streams, by a path on the page's server."""
ONE_TURN = f"""
setTimeout(() => process.exit(1), 60_000).unref();
events.addEventListener("message", ({{ data }}) => {{ if (JSON.parse(data).type === "turn.end") events.close(); }});
await new Promise((opened) => {{ events.onopen = opened; }});
const body = JSON.stringify({{ text: "add sugar to my list" }}), headers = {{ "Content-Type": "application/json" }};
await (await fetch("{ADDRESS}/threads/ann/turns", {{ method: "POST", headers, body }})).text();
"""
"""Has a turn once the stream is open, and closes the stream, which is endless, behind it."""


async def output_of(*command: str) -> str:
    """Run a command and return what it prints."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


@pytest.mark.slow
@pytest.mark.needs("openai_api")
async def test_the_examples_of_the_page(tmp_path: Path) -> None:
    """Each command answers as the page says; the official client adds to the list and shows it."""
    text, models = page("docs/http.md"), Models(make_model("local:rules", Endpoint(rules=RulesModel)))
    commands = re.findall(r"^\$ (curl .*)$", text, re.MULTILINE)
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    async with stage(tmp_path / "page.db", models) as assistant, served(assistant) as url:
        outputs = [await output_of("bash", "-c", command.replace(ADDRESS, url)) for command in commands]
        assert '"message":"Done. Your list:\\n1. milk"' in outputs[0]
        assert '"type": "turn.end"' in outputs[1]
        assert "1. bread" in await output_of(sys.executable, "-c", program.replace(ADDRESS, url))


@needs_node
@pytest.mark.slow
@pytest.mark.needs("agui")
async def test_the_examples_in_javascript(tmp_path: Path) -> None:
    """An answer is read by `fetch` alone, a run by the client of AG-UI, and what comes unasked as in a browser."""
    models = Models(make_model("local:rules", Endpoint(rules=RulesModel)))
    by_fetch, unasked, by_agent = re.findall(r"```javascript\n(.*?)```", page("docs/http.md"), re.DOTALL)
    async with stage(tmp_path / "page.db", models) as assistant, served(assistant) as url:
        assert "1. salt" in await node(by_fetch.replace(ADDRESS, url), tmp_path)
        await installed(tmp_path, "@ag-ui/client@1", "eventsource@3")
        assert "2. tea" in await node(by_agent.replace(ADDRESS, url), tmp_path)
        assert "3. sugar" in await node((BROWSER + unasked + ONE_TURN).replace(ADDRESS, url), tmp_path)
