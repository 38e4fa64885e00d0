"""Check JSON against a JSON schema, in a process of its own: a client's schema may be built to take long.

The process runs this file alone: a schema and a value come from stdin, the faults go to stdout. It imports nothing of
the application, which would take long and need more memory.
"""

import json
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress

import jsonschema_rs

SECONDS = 5  # Of the processor.
MEMORY = 1_500_000_000
"""The most bytes of address space for the process."""
MOST_FAULTS = 10


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
