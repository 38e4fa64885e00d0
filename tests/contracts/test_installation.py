"""The application can be installed, with all that its packages hold beside Python files."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.pages import PACKAGES
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, without a network, and return its path."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "uv", "build", "--offline", "--quiet", "--wheel", "--out-dir", str(folder)], ROOT)
    return next(folder.glob("*.whl"))


def run(command: Sequence[str], folder: Path, **environment: str) -> str:
    """Run a command in a folder; it must end well. Return its output."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    done = subprocess.run(command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    """Prompts, templates and tables are in it as well as code; tests are not, and no other name is taken."""
    listed = run(["git", "ls-files", *PACKAGES], ROOT).splitlines()
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    assert sorted(set(listed) - set(names)) == []
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {*PACKAGES}


def test_the_names_taken_on_import_are_said() -> None:
    """`pyproject.toml` names the packages that are installed, and the page on deployment says so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(project["tool"]["uv"]["build-backend"]["module-name"]) == {*PACKAGES}
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    assert ", ".join(f"`{name}`" for name in sorted(PACKAGES)) in page


@pytest.mark.slow
@pytest.mark.needs("first_steps")
def test_an_installed_application_answers_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment it answers, finds its texts, and writes files of one's own to a folder of one's own."""
    python, elsewhere = tmp_path / "env" / "bin" / "python", tmp_path / "elsewhere"
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], tmp_path)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    run([sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)], tmp_path)
    # The libraries are those of this process.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    (elsewhere / "own").mkdir(parents=True)
    application = [str(python), "-m", "app"]

    assert run([*application, "ask", "hello"], elsewhere).startswith("Hello!")
    assert (elsewhere / "var" / "dialogs.db").is_file()
    written = run([*application, "new", "dialog", "clinic"], elsewhere, EXTENSIONS="own")
    assert "own/dialogs/clinic/__init__.py" in written
    checked = run([*application, "check"], elsewhere, EXTENSIONS="own")
    assert ("clinic" in checked, "No faults." in checked) == (True, True)
    refused = subprocess.run([*application, "new", "dialog", "clinic"], cwd=elsewhere, capture_output=True, text=True)
    # The tests that it wrote need nothing of the repository.
    tests = [str(python), "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "own/tests"]
    assert "passed" in run(tests, elsewhere, EXTENSIONS="own")
    assert (refused.returncode, "name a folder of your own in EXTENSIONS" in refused.stderr) == (2, True)
