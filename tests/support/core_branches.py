"""Prints the share of the core's branches that the last measured run of the tests took; fails if it is too small.

Reads a report of `coverage json` from the standard input.
"""

import json
import sys

LEAST = 95.0
"""Percent of the branches."""


def share_of_branches(report: str) -> float:
    """Return the percent of branches that were taken, of all files in a report."""
    totals = json.loads(report)["totals"]
    return 100 * float(totals["covered_branches"]) / float(totals["num_branches"])


if __name__ == "__main__":
    share = share_of_branches(sys.stdin.read())
    sys.stdout.write(f"branches of the core: {share:.1f} %\n")
    sys.exit(0 if share >= LEAST else f"at least {LEAST} % must be taken by the tests")
