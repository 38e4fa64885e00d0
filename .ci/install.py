"""Install a file of pinned packages into the environment of this Python: `install.py FILE`.

uv needs a quarter of pip's time. It is told the indexes that pip is set up with. Where it fails, pip does the work.
"""

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PINS_OF_UV = Path(__file__).parents[1] / "requirements-dev.txt"
OPTIONS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
"""How uv calls pip's options."""
# pip takes a version from whichever index has it; the hashes say which file that may be.
ENVIRONMENT = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_CONFIG": "1"}


def run(*command: str, **environment: str) -> bool:
    """Run a module of this Python; tell whether it ended well. What it says is shown."""
    return subprocess.run([sys.executable, "-m", *command], env={**os.environ, **environment}).returncode == 0


def pip_install(*options: str) -> bool:
    """Install by pip."""
    return run("pip", "install", "--quiet", "--quiet", "--disable-pip-version-check", "--require-hashes", *options)


def indexes() -> Iterator[tuple[str, str]]:
    """Yield what pip is set up with, as uv takes it; a more special setting comes later."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    settings = [line.partition("=") for line in listed.splitlines()]
    for section in ("global.", "install.", ":env:."):
        for name, _, value in settings:
            if name.startswith(section) and (option := OPTIONS.get(name.removeprefix(section))):
                yield option, " ".join(ast.literal_eval(value).split())


def has_uv() -> bool:
    """Install uv by its pins; tell whether it is there."""
    lines = PINS_OF_UV.read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("uv=="))
    last = next(number for number in range(first, len(lines)) if not lines[number].endswith("\\"))
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "uv.txt"
        pins.write_text("\n".join(lines[first : last + 1]), "utf-8")
        return pip_install("-r", str(pins))


def main(file: str) -> int:
    """Install the file; return the exit code."""
    options = ("--quiet", "--require-hashes", "--compile-bytecode", "--python", sys.executable, "-r", file)
    if has_uv() and run("uv", "pip", "install", *options, **ENVIRONMENT, **dict(indexes())):
        return 0
    sys.stderr.write("uv cannot install here; pip does it now.\n")
    # The pins are constraints, too: pip before 23.3 forgets them where a package is required with an extra.
    return 0 if pip_install("-r", file, "-c", file) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
