"""Programs in JavaScript, run by Node.js; a folder of the test has their packages."""

import asyncio
import shutil
from pathlib import Path

import pytest

NODE, NPM = shutil.which("node"), shutil.which("npm")
needs_node = pytest.mark.skipif(NODE is None, reason="node is missing: apt-get install nodejs")


async def installed(folder: Path, *packages: str) -> None:
    """Install packages of npm into a folder; skip the test if that fails."""
    if NPM is None:
        pytest.skip("npm is missing: apt-get install npm")
    flags = ("--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "--silent")
    process = await asyncio.create_subprocess_exec(NPM, "install", *flags, *packages)
    if await process.wait() != 0:
        pytest.skip(f"npm cannot install {' '.join(packages)}")


async def node(program: str, folder: Path) -> str:
    """Run a program (an ECMAScript module) in a folder and return its output."""
    assert NODE is not None
    (folder / "program.mjs").write_text(program, "utf-8")
    process = await asyncio.create_subprocess_exec(
        NODE, "program.mjs", cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, faults = await process.communicate()
    assert process.returncode == 0, faults.decode()
    return output.decode()
