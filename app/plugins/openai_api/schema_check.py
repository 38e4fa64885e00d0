"""A check of JSON against a JSON schema, in a process of its own: a client's schema may be built to take long.

That process runs this file alone: a schema and a value come from stdin, the faults go to stdout.
"""

import asyncio
import json
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress

import jsonschema_rs

SECONDS = 5
MEMORY = 1_500_000_000
"""The most bytes of address space for the process."""
MOST_FAULTS = 10


class BadSchema(Exception):
    """The schema is not valid, refers to another place, or takes too long."""


async def faults_of(schema: object, *values: object) -> list[str]:
    """Return the faults of a value, each with its place; without a value, only the schema is checked.

    Raises:
        BadSchema: the schema cannot check anything.
    """
    process = await asyncio.create_subprocess_exec(
        # The process imports nothing of the application: it would take long to start, and need more memory.
        *(sys.executable, "-P", __file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
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
    """Return the first faults of values. Raises ValueError: the schema is not valid."""
    # No reference is fetched, and patterns run in linear time.
    options = jsonschema_rs.RegexOptions()
    validator = jsonschema_rs.validator_for(json.dumps(schema), offline=True, pattern_options=options)
    wrong = [error for value in values for error in validator.iter_errors(value)][:MOST_FAULTS]
    return [f"{'.'.join(map(str, error.instance_path)) or 'the whole'}: {error.message[:200]}" for error in wrong]


def main() -> int:
    """Check the values on stdin."""
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
