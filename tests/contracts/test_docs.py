"""The claims of the documents are true."""

import itertools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic_settings import BaseSettings

from agents.memory import deletions, feedback, gate_log, notices, updates
from agents.toolkit.call import Execute, ToolReply
from agents.toolkit.tool_node import ToolPolicies
from app.cli import command_line
from app.composition import plugins_found
from app.settings import Settings
from app.settings import read as read_settings_of
from dialogs import Dialog
from tests.support import pages, screenshots
from tests.support.parts import EVERY_PART
from tests.support.places import ROOT

DAY_MS = 24 * 3600 * 1000
FOLDERS = ("agents", "app", "benchmarks", "dialogs", "docs", "observers", "prompts", "tests")
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "dialogs").glob("*/README.md")]


def read(name: str) -> str:
    """Return a file of the repository."""
    return (ROOT / name).read_text("utf-8")


def headings(file: Path) -> set[str]:
    """Return the headings of a page, as links name them."""
    lines = re.findall(r"^#+ (.*)", file.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.needs(*EVERY_PART)
def test_the_drawing_is_true(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """`docs/architecture.md` shows the graph as `python -m app graph` draws it."""
    assert command_line.main(["graph"]) == 0

    assert f"```mermaid\n{capsys.readouterr().out.strip()}\n```" in read("docs/architecture.md")


@pytest.mark.parametrize(("document", "fewest"), [("docs/hardening.md", 60), ("SECURITY.md", 40)])
@pytest.mark.needs(*EVERY_PART)
def test_the_tests_that_hold_it_are_there(document: str, fewest: int) -> None:
    """The lists of fixes and of security name existing files and functions of tests."""
    tests = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`([\w/]*test_\w+\.py)((?:::\w+)*)", read(document))
    assert len(named) > fewest
    for file, functions in named:
        sources = [text for path, text in tests.items() if f"/{path}".endswith(f"/{file}")]
        assert sources, file
        for function in filter(None, functions.split("::")):
            assert any(re.search(rf"(def|class) {function}\b", text) for text in sources), f"{file}::{function}"


def test_what_is_said_of_security_is_held() -> None:
    """Each line of what the application does names a test, and each file of attacks holds some line."""
    table = read("SECURITY.md").partition("## What the application does")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert [line for line in lines if "test_" not in line.split(" | ")[-1]] == []
    attacks = [file.relative_to(ROOT).as_posix() for file in (ROOT / "tests/engine/attacks").glob("test_*.py")]
    assert [attack for attack in attacks if attack not in read("SECURITY.md")] == []


@pytest.mark.parametrize(
    ("row", "period"),
    [
        ("updates", f"{updates.KEPT_MS // DAY_MS} days"),
        ("feedback", f"{feedback.KEPT_MS // DAY_MS} days"),
        ("gate log", f"{gate_log.KEPT:,} messages"),
        ("notices", f"{notices.KEPT_MS // DAY_MS} days"),
        ("forgettings", f"{deletions.KEPT_MS // DAY_MS} day"),
    ],
)
def test_it_is_kept_as_long_as_is_said(row: str, period: str) -> None:
    """The table of what is remembered has the periods of the code."""
    [line] = [line for line in read("docs/architecture.md").splitlines() if f" | {row} | " in line]
    assert period in line


@pytest.mark.needs("profile")
def test_the_reading_list_is_short() -> None:
    """A newcomer reads at most 500 lines of source, and the line counts of the list are about right."""
    section = read("docs/architecture.md").partition("## Reading list")[2].partition("\n## ")[0]
    listed = {name: int(lines) for name, lines in re.findall(r"^\| `(.*?)` \| (\d+) \|", section, re.MULTILINE)}
    lines = {name: len(read(name).splitlines()) for name in listed}

    assert len(listed) >= 4
    assert sum(lines.values()) <= 500
    for name, count in listed.items():
        assert abs(lines[name] - count) <= 20, name


SETTINGS = [(".env.example", Settings)] + [
    (f"{'dialogs' if isinstance(plugin, Dialog) else 'app/plugins'}/{name}/.env.example", plugin.settings)
    for name, plugin in plugins_found().items()
    if plugin.settings
]


@pytest.mark.parametrize(("file", "kind"), SETTINGS)
def test_every_setting_is_explained(file: str, kind: type[BaseSettings]) -> None:
    """`.env.example`, and that of a dialog or a plug-in, has every setting of its own with a comment above it."""
    lines = read(file).splitlines()
    named = [line.partition("=")[0] for line in lines if re.match("[A-Z_]+=", line)]

    shared = set() if kind is Settings else {*Settings.model_fields}
    assert sorted(named) == sorted(name.upper() for name in {*kind.model_fields} - shared)
    for above, line in itertools.pairwise(lines):
        assert not re.match("[A-Z_]+=", line) or above.startswith("# "), line


@pytest.mark.parametrize(("file", "kind"), SETTINGS)
def test_the_example_holds_the_defaults(file: str, kind: type[BaseSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    """Copying `.env.example` to `.env` changes nothing."""
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    defaults = read_settings_of(kind)
    monkeypatch.setitem(Settings.model_config, "env_file", str(ROOT / file))
    assert read_settings_of(kind) == defaults


def test_every_dependency_earns_its_place() -> None:
    """`docs/decisions.md` says what each dependency is for."""
    dependencies = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]

    for requirement in dependencies:
        assert re.split("[>=<]", requirement)[0] in read("docs/decisions.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
@pytest.mark.needs(*EVERY_PART)
def test_links_lead_somewhere(document: Path) -> None:
    """A link to a file of the repository names one that exists, and a heading that is in it."""
    for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text("utf-8")):
        file = document.parent / target if target else document
        assert file.exists(), target
        assert not place or place in headings(file), f"{target}#{place}"


def test_policies_of_a_tool_call_stand_in_their_order() -> None:
    """The table of the architecture is the list of the code, and a hook of a plug-in comes behind all policies."""

    async def hook(request: ToolCallRequest, handler: Execute) -> ToolReply:
        return await handler(request)

    *names, last = [policy.__name__ for policy in ToolPolicies("planner", hooks=[hook]).in_order()]
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    table = text.partition("| policy | what it does |")[2].partition("\n\n")[0]
    assert [*re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)] == names
    assert (last, table.splitlines()[-1].split(" |")[0]) == ("hook", "| hooks")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
@pytest.mark.needs(*EVERY_PART)
def test_named_files_exist(document: Path) -> None:
    """A path below one of our folders that a document names is there, or is a file that the document tells to write."""
    if document.name == "CHANGELOG.md":
        pytest.skip("it also names what is gone")
    text = document.read_text("utf-8")
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", text):
        assert path in pages.files(text) or (ROOT / path).exists(), path


def test_the_index_lists_every_page() -> None:
    """A reader of `docs/index.md` finds each page."""
    links = re.findall(r"\]\(([^)#:]+)", read("docs/index.md"))
    linked = {(ROOT / "docs" / link).resolve() for link in links}
    assert {document for document in DOCUMENTS if document.resolve() not in linked} == {ROOT / "docs/index.md"}


def test_named_modules_exist() -> None:
    """A package or module that the tables of layers name without its folder is in `agents` or `app`."""
    layers = read("docs/architecture.md").partition("### Inside `app/`")[2].partition("\n## ")[0]
    for path in re.findall(r"`(\w+/|\w+\.py)`", layers):
        assert any((ROOT / folder / path).exists() for folder in (".", "agents", "app")), path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_make_targets_exist(document: Path) -> None:
    """A `make` target that a document names has a rule."""
    for target in re.findall(r"`make (\w+)", document.read_text("utf-8")):
        assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), target


@pytest.mark.slow
def test_the_screenshots_can_be_drawn_again(tmp_path: Path) -> None:
    """`python -m tests.support.screenshots` draws each picture of the README, and needs nothing else."""
    screenshots.main(tmp_path)

    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(path.name for path in screenshots.FOLDER.glob("*.svg"))
    assert drawn == sorted(re.findall(r"\(docs/screens/(.*?)\)", read("README.md")))
    for folder, name in itertools.product((tmp_path, screenshots.FOLDER), drawn):
        text = (folder / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "profile" in text, name
        assert "://" not in text, name
        assert "@import" not in text, name


def test_the_repository_names_no_machine() -> None:
    """No pinned file carries an index address, no file a path of the machine it was made on."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        text = (ROOT / name).read_text("utf-8", "replace") if (ROOT / name).is_file() else ""
        assert str(ROOT) + "/" not in text, name
        assert "--index" + "-url" not in text, name
