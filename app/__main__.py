"""`python -m app COMMAND`: run a command of the command line and exit with its code."""

import gc
import sys

from agents.errors import ContractError

try:
    # Imports take a second or more. They make no garbage, and a search for it would take a quarter of a start; the
    # command line enables it again. Ctrl-C in this time is meant, so it shows no stack trace.
    gc.disable()
    from app.cli.command_line import main
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] in ("agents", "app", "dialogs", "observers", "prompts"):
        raise
    # Outside of the environment, `python` is another interpreter than the application's.
    sys.stderr.write(f"python -m app: {missing.name} is not installed here. Run make install, then .venv/bin/python.\n")
    sys.exit(2)
except ContractError as broken:
    # A tool of the supervisor declares contradictory traits.
    sys.stderr.write(f"python -m app: {broken}\n")
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
