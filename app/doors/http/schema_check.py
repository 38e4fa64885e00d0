"""JSON held against a JSON schema, in a process of its own: schemas come from clients, and may be made to take long.

`python -m app.doors.http.schema_check` is that process: a schema and a value from stdin, the faults to stdout.
"""

import asyncio
import json
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import jsonschema_rs

SECONDS = 5
MEMORY = 1_500_000_000
"""Bytes of address space that the process may use."""
MOST_FAULTS = 10


class BadSchema(Exception):
    """The schema is none, asks for something elsewhere, or takes too long."""


async def faults_of(schema: object, *values: object) -> list[str]:
    """Return what is wrong with a value, each fault with its place; without a value the schema alone is checked.

    Raises:
        BadSchema: nothing can be held against the schema.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.doors.http.schema_check"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
        env={"PYTHONUTF8": "1"},
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(json.dumps([schema, *values]).encode()), SECONDS)
    except TimeoutError:
        raise BadSchema("it takes too long") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        raise BadSchema(answer.decode() or "it cannot be read")
    return list(json.loads(answer))


def faults(schema: object, values: Sequence[object]) -> list[str]:
    """Return the first faults of values. Raises ValueError: the schema is none."""
    # No reference is fetched, and patterns run in linear time.
    options = jsonschema_rs.RegexOptions()
    validator = jsonschema_rs.validator_for(json.dumps(schema), offline=True, pattern_options=options)
    wrong = [error for value in values for error in validator.iter_errors(value)][:MOST_FAULTS]
    return [f"{'.'.join(map(str, error.instance_path)) or 'the whole'}: {error.message[:200]}" for error in wrong]


def main() -> int:
    """Check what stdin brings."""
    for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY)):
        # Some systems have no such limit.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    try:
        schema, *values = json.load(sys.stdin)
        sys.stdout.write(json.dumps(faults(schema, values)))
    except (ValueError, RecursionError) as fault:
        sys.stdout.write(str(fault).partition("\n")[0][:200])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
