"""Counts the non-blank lines of the product's Python files, for `make size`."""

import json
import sys
from collections import Counter
from pathlib import Path

from tests.support.places import ROOT

PACKAGES = ("agents", "app", "dialogs", "observers", "prompts")


def lines_by_room(root: Path = ROOT) -> Counter[str]:
    """Return the non-blank lines of each room: a folder in a package, or the package's own files."""
    counts = Counter[str]()
    for package in PACKAGES:
        for file in (root / package).rglob("*.py"):
            room = file.relative_to(root).parent.parts[:2]
            counts["/".join(room)] += sum(1 for line in file.read_text("utf-8").splitlines() if line.strip())
    return counts


def lines_by_package(rooms: Counter[str]) -> dict[str, int]:
    """Return the lines of each package, of the "core" (without dialogs and plug-ins), and of all as "total"."""
    packages = {name: sum(count for room, count in rooms.items() if room.split("/")[0] == name) for name in PACKAGES}
    core = packages["agents"] + packages["app"] - rooms["app/plugins"] + packages["observers"] + packages["prompts"]
    return {**packages, "core": core, "total": sum(packages.values())}


def main(arguments: list[str]) -> None:
    """Print the counts: as JSON by package with `--json`, else room by room."""
    rooms = lines_by_room()
    packages = lines_by_package(rooms)
    if "--json" in arguments:
        print(json.dumps(packages))
        return
    for room, count in sorted(rooms.items()):
        print(f"{count:7,}  {room}")
    for package, count in packages.items():
        print(f"{count:7,}  {package} (whole)" if package in PACKAGES else f"{count:7,}  {package}")


if __name__ == "__main__":
    main(sys.argv[1:])
