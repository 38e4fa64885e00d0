"""The promises of `/openapi.json` hold for all requests."""

import asyncio
import sys
from pathlib import Path

import pytest

from agents.models import Models
from agents.models.factory import Endpoint, make_model
from tests.support.http_door import served
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import stage

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
OPTIONS = ("--phases=coverage,fuzzing,stateful", "--max-examples=20", "--seed=1", "--workers=1", "--no-color")
ENDLESS = "--exclude-path-regex=/events$"
"""A stream without an end holds each request until the client has had enough of it."""


@pytest.mark.slow
async def test_no_answer_is_undocumented(tmp_path: Path) -> None:
    """Requests made from the description, right and wrong ones, are answered as it says, and never with 500."""
    models = Models(make_model("local:rules", Endpoint(rules=RulesModel)))
    options = [*OPTIONS, ENDLESS, f"--checks={CHECKS}", "--generation-database=none"]
    async with stage(tmp_path / "described.db", models) as assistant, served(assistant) as url:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", *options]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        report, _ = await process.communicate()
    assert process.returncode == 0, report.decode()
