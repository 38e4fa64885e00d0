"""Third-party servers on this machine: searx over a local file, aimock's Tavily and its transcriber.

`apt-get install searx` brings the first (Debian 12), `npm install --global @copilotkit/aimock` the second. Both answer
from a test's own data, and reach nothing outside.
"""

import asyncio
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import yaml

from tests.support.loopback import free_port
from tests.support.until import until_answered

SEARX, AIMOCK, NODE = shutil.which("searx-run"), shutil.which("aimock"), shutil.which("node")
SHARE = "/usr/share/python3-searx"
COLUMNS = ("url", "title", "content", "img_src", "thumbnail_src", "img_format")
TAVILY = """
const { LLMock } = require(process.argv[1]);
const mock = new LLMock({ port: Number(process.argv[2]), host: "127.0.0.1" });
for (const [query, results] of Object.entries(JSON.parse(process.argv[3]))) mock.onSearch(query, results);
mock.start();
"""
TRANSCRIBER = """
const { LLMock } = require(process.argv[1]);
const mock = new LLMock({ port: Number(process.argv[2]), host: "127.0.0.1" });
mock.onTranscription({ transcription: { text: process.argv[3] } });
mock.start();
"""


@asynccontextmanager
async def searx(folder: Path, pages: Sequence[Sequence[str]]) -> AsyncIterator[str]:
    """Run searx over these rows of COLUMNS and return its address. The words of its content find a row."""
    data, port = folder / "pages.db", free_port()
    with closing(sqlite3.connect(data)) as database, database:
        database.execute(f"CREATE TABLE pages ({', '.join(COLUMNS)})")
        database.executemany(f"INSERT INTO pages VALUES ({', '.join('?' * len(COLUMNS))})", pages)
    settings = folder / "settings.yml"
    settings.write_text(yaml.safe_dump(_settings(port, data)), "utf-8")
    environment = {"PATH": os.environ["PATH"], "SEARX_SETTINGS_PATH": str(settings)}
    async with _running(str(SEARX), environment=environment, probe=f"http://127.0.0.1:{port}/healthz") as url:
        yield url


@asynccontextmanager
async def tavily(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> AsyncIterator[str]:
    """Run aimock and return its address. It answers each query that contains a key with the key's results."""
    port = free_port()
    command = (str(NODE), "-e", TAVILY, _module(), str(port), json.dumps(answers))
    async with _running(*command, environment=dict(os.environ), probe=f"http://127.0.0.1:{port}/health") as url:
        yield url


@asynccontextmanager
async def transcriber(text: str) -> AsyncIterator[str]:
    """Run aimock with this text as the transcript of every recording, and return its address."""
    port = free_port()
    command = (str(NODE), "-e", TRANSCRIBER, _module(), str(port), text)
    async with _running(*command, environment=dict(os.environ), probe=f"http://127.0.0.1:{port}/health") as url:
        yield url


@asynccontextmanager
async def _running(*command: str, environment: Mapping[str, str], probe: str) -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=sys.stderr.fileno()
    )
    try:
        await until_answered(probe, process)
        yield probe.rpartition("/")[0]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _module() -> str:
    """Return the folder of aimock: the command is a link into its package."""
    return str(Path(str(AIMOCK)).resolve().parent / "index.cjs")


def _settings(port: int, data: Path) -> dict[str, Any]:
    """Return searx's settings: two engines that read the file alone."""

    def engine(name: str, category: str, template: str, columns: str, only: str) -> dict[str, Any]:
        return {
            "name": name,
            "engine": "sqlite",
            "shortcut": name[:3],
            "categories": category,
            "database": str(data),
            "result_template": template,
            "query_str": f"SELECT {columns} FROM pages WHERE {only} AND content LIKE '%' || :query || '%'",
        }

    return {
        "general": {"debug": False, "instance_name": "local", "contact_url": False, "enable_stats": False},
        "brand": dict.fromkeys(("git_url", "git_branch", "issue_url", "docs_url", "public_instances", "wiki_url"), ""),
        "search": {
            "safe_search": 0,
            "autocomplete": "",
            "default_lang": "",
            "ban_time_on_fail": 5,
            "max_ban_time_on_fail": 120,
        },
        "server": {
            "port": port,
            "bind_address": "127.0.0.1",
            "secret_key": "local",
            "base_url": False,
            "image_proxy": False,
            "http_protocol_version": "1.1",
            "method": "GET",
            "default_http_headers": {},
        },
        "ui": {
            "static_path": f"{SHARE}/static",
            "templates_path": f"{SHARE}/templates",
            "default_theme": "oscar",
            "default_locale": "",
            "theme_args": {"oscar_style": "logicodev"},
            "results_on_new_tab": False,
        },
        "preferences": {"lock": []},
        "outgoing": {"request_timeout": 5.0, "useragent_suffix": "", "pool_connections": 10, "pool_maxsize": 10},
        "locales": {"en": "English", "ru": "Russian"},
        "enabled_plugins": [],
        "checker": {},
        "doi_resolvers": {"local": "https://doi.example/"},
        "default_doi_resolver": "local",
        "engines": [
            engine("pages", "general", "default.html", "url, title, content", "img_src = ''"),
            engine("pictures", "images", "images.html", ", ".join(COLUMNS), "img_src <> ''"),
        ],
    }
