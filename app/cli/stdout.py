"""Results go to stdout alone: what is printed otherwise is sent to stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def results_alone() -> Iterator[TextIO]:
    """Yield stdout for results; during the block other prints of the whole process go to stderr."""
    results = sys.stdout
    with redirect_stdout(sys.stderr):
        yield results
