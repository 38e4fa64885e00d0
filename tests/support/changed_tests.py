"""Prints the test files that belong to the changes of the working copy, for `make quick`."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.places import ROOT

PROMPT_TESTS = ("tests/contracts/test_prompts.py",)


def changed_files(root: Path = ROOT) -> list[str]:
    """Return the paths that differ from the last commit, new files included and deleted ones left out."""
    listings = (["diff", "--name-only", "--relative", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    outputs = [subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True) for arguments in listings]
    paths = {path for output in outputs for path in output.stdout.splitlines()}
    return sorted(path for path in paths if (root / path).exists())


def matching_tests(changes: Sequence[str], root: Path = ROOT) -> list[str]:
    """Return the test files that changed, have the name of a changed module, or import one."""
    modules = [path.removesuffix(".py").removesuffix("/__init__") for path in changes if path.endswith(".py")]
    selected = {f"{module}.py" for module in modules if Path(module).name.startswith("test_")}
    if any(path.startswith("prompts/") for path in changes):
        selected.update(PROMPT_TESTS)
    patterns = [re.compile(rf"\b{re.escape(module.replace('/', '.'))}(?![\w.])") for module in modules]
    names = {f"test_{Path(module).name}.py" for module in modules}
    for file in sorted((root / "tests").rglob("test_*.py")):
        source = file.read_text("utf-8")
        if file.name in names or any(pattern.search(source) for pattern in patterns):
            selected.add(file.relative_to(root).as_posix())
    return sorted(selected)


if __name__ == "__main__":
    print(*matching_tests(changed_files()), sep="\n")
