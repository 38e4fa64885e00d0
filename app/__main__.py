"""`python -m app COMMAND`: run a command of the command line and exit with its code."""

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
