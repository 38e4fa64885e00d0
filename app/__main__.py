"""`python -m app COMMAND`: run a command of the command line and exit with its code."""

import sys

from agents.errors import ContractError

try:
    # This import takes a second or more: Ctrl-C meanwhile is no accident to show a stack trace for.
    from app.cli.command_line import main
except KeyboardInterrupt:
    sys.exit(130)
except ContractError as broken:
    # A tool of the supervisor declares contradictory traits.
    sys.stderr.write(f"python -m app: {broken}\n")
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
