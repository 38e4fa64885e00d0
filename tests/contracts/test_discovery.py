"""Discovery: dialogs and observers are found by file name, and what breaks a rule is told at the start."""

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

import app.plugins
import dialogs
import observers
import prompts
from agents.discovery import load
from agents.errors import ContractError
from app.cli import command_line
from app.cli.installation import report
from app.composition.supervisor_tools import current_time
from app.settings import Settings
from dialogs import Dialog
from prompts import PromptError
from tests.support.parts import EVERY_DIALOG

Plant = Callable[..., None]
BODY = 'tool="break_it", description="Used for breaking things."'


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Plant]:
    """Put a file beside the dialogs or the observers; afterwards it never was there."""
    planted: list[tuple[ModuleType, str]] = []

    def put(package: ModuleType, source: str, name: str = "broken") -> None:
        folder = tmp_path / package.__name__
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(f'"""Planted by a test."""\n{source}\n', "utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        importlib.invalidate_caches()
        planted.append((package, name))

    yield put
    for package, name in planted:
        sys.modules.pop(f"{package.__name__}.{name}", None)
        vars(package).pop(name, None)


@pytest.fixture
def settings() -> Settings:
    """Settings that owe nothing to the environment."""
    return Settings(llm_model="local:rules", observer_model=None, role_models={}, fallback_model=None)


STRICT = """
from pydantic import BaseModel, model_validator
class Strict(BaseModel):
    town: str = ""
    @model_validator(mode="after")
    def known(self):
        assert self.town, "both"
        return self
"""


def a_dialog(body: str) -> str:
    """Return the source of a dialog."""
    return f"from pydantic import create_model\nfrom dialogs import Dialog\n{STRICT}dialog = Dialog({body})"


def find() -> dict[str, Dialog]:
    """Find the dialogs as the application does."""
    return dialogs.discover(prompts.languages(), observers.discover(prompts.languages()))


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (
            'tool="break_it", description="Used for breaking.", tools=[print]',
            "must be tools .* <built-in function print>",
        ),
        ('tool="break it", description="Used for breaking."', "Dialog.tool must be a plain name .* 'break it'"),
        ('tool="break_it", description="Breaks things."', "must begin with 'Used for ', found 'Breaks things.'"),
        (f'{BODY}, resume="perhaps"', "Dialog.resume: Input should be .ask., .* found .perhaps."),
        (f'{BODY}, forwarding="all"', "Dialog.forwarding: Input should be .* found .all."),
        (f"{BODY}, form=create_model('Order', number=int, why=(str, ''))", "Order.*'not known yet': number$"),
        (f"{BODY}, form=create_model('Order', to=('Town', None))", "line 12: .*: name 'Town' is not defined"),
        (
            f"{BODY}, form=create_model('Order', number=(int, 'x'))",
            "Dialog.form has a wrong default of 'number': .* found 'x'",
        ),
        (
            f"{BODY}, form=create_model('Order')()",
            "Dialog.form must be a class of pydantic's BaseModel with fields, found Order",
        ),
        (f'{BODY}, formerly="breaker"', "Dialog.formerly: .*not allowed as a Sequence value, found 'breaker'"),
        (f"{BODY}, parameters={{'temperature': 1}}", "Dialog.parameters: Input should be an instance of Parameters"),
        (f"{BODY}, version=0", "Dialog.version: Input should be greater than or equal to 1, found 0"),
        (f"{BODY}, formerly=['broken']", "Dialog.formerly names a dialog that there is: broken"),
        (f"{BODY}, form=create_model('Order')", "Dialog.form must be a class of pydantic's BaseModel with fields"),
        (f"{BODY}, form=Strict", "Dialog.form cannot begin empty: Assertion failed, both"),
        (f"{BODY}, remember=True", "Dialog.remember keeps a form: set form=…"),
        (f'{BODY}, version="2"', "Dialog.version: Input should be a valid integer, found '2'"),
        (f'{BODY}, observers=["supervisor", "weather"]', "observers that do not exist: weather"),
    ],
)
def test_a_dialog_that_breaks_a_rule_is_named(plant: Plant, body: str, rule: str) -> None:
    """The application does not start; the message says which file breaks which rule."""
    plant(dialogs, a_dialog(body))
    with pytest.raises(ContractError, match=rule) as broken:
        find()
    assert "dialogs/broken.py" in str(broken.value)


@pytest.mark.parametrize(("source", "found"), [("", "None"), ("dialog = 'a dialog'", "'a dialog'")])
def test_a_file_without_a_dialog_is_named(plant: Plant, source: str, found: str) -> None:
    """A file among the dialogs that defines none is a mistake."""
    plant(dialogs, source)
    with pytest.raises(ContractError) as broken:
        find()
    assert str(broken.value) == f"dialogs/broken.py must define `dialog = Dialog(...)`, found {found}"


def test_a_module_that_is_not_there_is_named() -> None:
    """A plug-in names the modules of its routes; no line of ours is to blame for a wrong name."""
    with pytest.raises(ContractError, match=r"^app/plugins/nowhere\.py: ModuleNotFoundError: No module named"):
        load("app.plugins.nowhere")


@pytest.mark.parametrize(("source", "rest"), [
    ("dialog = Dialog(", "line 2: SyntaxError: '(' was never closed"),
    ("raise SystemExit('no licence')", "line 2: SystemExit: no licence"),
    ("dialog = [][1]", "line 2: IndexError: list index out of range"),
    ("from typing import get_type_hints\ndef book(day: 'date'): ...\nget_type_hints(book)",
     "line 4: NameError: name 'date' is not defined"),
    ("from langchain_core.tools import tool\n@tool\ndef mine(x: str) -> str:\n    return x",
     "line 3: ValueError: Function must have a docstring if description not provided."),
])  # fmt: skip
def test_a_file_that_cannot_be_loaded_is_named(
    plant: Plant, capsys: pytest.CaptureFixture[str], source: str, rest: str
) -> None:
    """Whatever Python says against it is one line with the place, at every command, and exit code 2."""
    plant(dialogs, source)
    with pytest.raises(ContractError) as broken:
        find()
    assert str(broken.value) == f"dialogs/broken.py, {rest}"
    assert command_line.main(["graph"]) == 2
    assert capsys.readouterr() == ("", f"python -m app: dialogs/broken.py, {rest}\n")
    assert command_line.main(["check"]) == 2
    assert rest in capsys.readouterr().out


@pytest.mark.parametrize("name", ["trip", "trip/tools/search"])
def test_a_module_that_a_package_hides_is_named(plant: Plant, tmp_path: Path, name: str) -> None:
    """Python would read the package alone, and nobody would see why the module does nothing."""
    hidden = tmp_path / "dialogs" / f"{name}.py"
    hidden.with_suffix("").mkdir(parents=True)
    hidden.write_text("", "utf-8")
    (hidden.with_suffix("") / "__init__.py").write_text("", "utf-8")
    plant(dialogs, "")
    with pytest.raises(ContractError) as broken:
        find()
    assert str(broken.value) == (
        f"dialogs/{name}.py is never read, since dialogs/{name}/ has its name: rename one of them"
    )


def test_a_folder_that_is_no_package_is_named(plant: Plant, tmp_path: Path) -> None:
    """Python finds nothing in it, and nobody would see why the dialog is not there."""
    plant(dialogs, "")
    (tmp_path / "dialogs" / "trip").mkdir()
    (tmp_path / "dialogs" / "trip" / "tools.py").write_text("", "utf-8")
    with pytest.raises(ContractError, match=r"^dialogs/trip is never read, since it has no __init__\.py: write one$"):
        find()


FAILING = """from agents.plugin import Plugin
def fail(*_):
    raise {failure}
plugin = Plugin({field})
"""


@pytest.mark.parametrize(
    ("field", "command", "failure"),
    [
        ("tools=fail", "check", "ValueError"),
        ("dialogs=fail", "check", "SystemExit"),
        ("served_tools=fail", "check", "ValueError"),
        ("storage={'odd': fail}", "check", "ValueError"),
        ("models={'local:rules': fail}", "check", "ValueError"),
        ("services=fail", "graph", "SystemExit"),
        ("agent_runner=fail", "graph", "ValueError"),
        ("door=fail", "serve", "ValueError"),
    ],
)
def test_a_plugin_whose_code_fails_at_the_start_is_named(
    plant: Plant,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    field: str,
    command: str,
    failure: str,
) -> None:
    """The operator reads the file, the line and the error, in one line, and the exit code is 2."""
    monkeypatch.setenv("DATABASE_URL", "odd://x" if "storage" in field else database)
    monkeypatch.setenv("LLM_MODEL", "local:rules" if "models" in field else "openai:none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    plant(app.plugins, FAILING.format(failure=f"{failure}('no licence')", field=field))
    assert command_line.main([command]) == 2
    told = capsys.readouterr()
    [line] = [line for line in (told.out + told.err).splitlines() if "no licence" in line]
    assert f"app/plugins/broken.py, line 4: {failure}: no licence" in line


@pytest.mark.parametrize(
    ("field", "command", "told"),
    [
        ("around_turn=5", "check", "Plugin.around_turn: Input should be callable, found 5"),
        ("around_tool_call=later", "check", "Plugin.around_tool_call: it must take (ToolCallRequest, Callable)"),
        (
            "around_turn=lambda request, play: None",
            "check",
            "Plugin.around_turn: write it with `async def` and `yield`",
        ),
        ("services=later", "check", "Plugin.services: write `@asynccontextmanager` above it"),
        ("tables=Tables('odd', ['CREATE TABLE odd'])", "check", "Plugin.tables: Tables.migrations: Input should be"),
        (
            "commands=[SlashCommand(name='odd', run=later, description=later)]",
            "check",
            "Plugin.commands: SlashCommand.description: write it with `def` and without `yield`",
        ),
        ("commands=5", "check", "Plugin.commands: Input should be an instance of Sequence, found 5"),
        (
            "commands=[SlashCommand(name='/x', run=int, description=int)]",
            "check",
            "SlashCommand.name has small letters",
        ),
        ("commands=['odd']", "check", "Plugin.commands: Input should be an instance of SlashCommand, found 'odd'"),
        ("setup={'odd': 'x'}", "check", "Plugin.setup: Input should be callable, found 'x'"),
        ("tables={}", "check", "Plugin.tables: Input should be an instance of Tables, found {}"),
        ("command_line=5", "check", "Plugin.command_line: Input should be an instance of Typer, found 5"),
        ("tools=lambda s: None", "check", "TypeError: Value after * must be an iterable, not NoneType"),
        ("served_tools=lambda s: lambda *_: 5", "check", "TypeError: 'builtins.int' object does not support"),
    ],
)
def test_a_plugin_of_a_wrong_form_is_named(
    plant: Plant, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    field: str, command: str, told: str,
) -> None:  # fmt: skip
    """What is no function, or returns nothing of use, is one line, and not a traceback."""
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("LLM_MODEL", "openai:none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    source = (
        "from agents.plugin import *\nfrom agents.toolkit.commands import *\nasync def later(services):\n    pass\n"
    )
    plant(app.plugins, f"{source}plugin = Plugin({field})")
    assert command_line.main([command]) == 2
    shown = capsys.readouterr()
    [line] = [line for line in (shown.out + shown.err).splitlines() if told in line]
    assert "app/plugins/broken.py" in line


DECORATOR = """
def in_a_thread(run):
    @wraps(run)
    async def awaited(*args):
        return run(*args)
    return awaited
"""


@pytest.mark.parametrize("form", [
    "def hook(request, handler) -> Awaitable[object]:\n    return handler(request)",
    "@in_a_thread\ndef hook(request, handler):\n    return None",
    "class Hook:\n    async def __call__(self, request, handler):\n        return None\nhook = Hook()",
])  # fmt: skip
def test_a_hook_may_be_written_in_other_ways(
    plant: Plant, database: str, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Its declared type or a decorator may say that it is awaited."""
    monkeypatch.setenv("LLM_MODEL", "openai:none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    imports = "from collections.abc import Awaitable\nfrom functools import wraps\nfrom agents.plugin import *\n"
    plant(app.plugins, f"{imports}{DECORATOR}{form}\nplugin = Plugin(around_tool_call=hook)")
    assert command_line.main(["check"]) == 0


def test_a_module_that_a_dialog_imports_is_named(plant: Plant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A mistake in a file of tools is told of that file, not of the dialog that has them."""
    monkeypatch.setattr("agents.discovery.ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "planted_tools.py").write_text("from math import pie\n", "utf-8")
    plant(dialogs, "import planted_tools")
    with pytest.raises(ContractError, match=r"^planted_tools\.py, line 1: ImportError: cannot import name 'pie'"):
        find()


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("", r"must define `observer = Observer\(\.\.\.\)`"),
        ("from observers import Observer\nobserver = Observer()", "needs a pre_check or a post_check"),
    ],
)
def test_an_observer_that_breaks_a_rule_is_named(plant: Plant, source: str, rule: str) -> None:
    """A file among the observers that defines none, or one that checks nothing, is a mistake."""
    plant(observers, source)
    with pytest.raises(ContractError, match=rule) as broken:
        find()
    assert "observers/broken.py" in str(broken.value)


OBSERVER = """from agents.state.verdict import STAY
from observers import Observer
async def check(scene):
    return STAY
observer = Observer(pre_check=check)
"""


@pytest.mark.parametrize(
    ("package", "source", "file"),
    [(dialogs, a_dialog(BODY), r"broken/prompt\.md"), (observers, OBSERVER, r"observers/broken\.md")],
    ids=["dialog", "observer"],
)
def test_a_missing_prompt_is_found_at_the_start(plant: Plant, package: ModuleType, source: str, file: str) -> None:
    """The message names the file to write."""
    plant(package, source)
    with pytest.raises(PromptError, match=rf"prompts/en/{file} is missing"):
        find()


def test_a_variable_in_the_role_of_an_observer_is_found_at_the_start(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Such an observer would fail at each message, and so vote that the dialog stays."""
    monkeypatch.setattr(prompts, "FOLDER", shutil.copytree(prompts.FOLDER, tmp_path / "prompts"))
    (prompts.FOLDER / "en" / "observers" / "odd.md").write_text("Is $reply the end?", "utf-8")
    plant(observers, OBSERVER, "odd")
    with pytest.raises(PromptError, match=r"observers/odd\.md: \$reply stands in the role"):
        find()


def test_a_dialog_reads_well() -> None:
    """`str(dialog)` says at a glance how it is called, what for, and with what."""

    class Order(BaseModel):
        number: int | None = None
        why: str = ""

    plain = Dialog(tool="break_it", description="Used for breaking things.", resume="never")
    full = Dialog(tool="mend_it", description="Used for mending.", tools=[current_time], form=Order, version=2)
    assert str(plain) == "break_it (v1): Used for breaking things. [no tools; resume: never]"
    assert str(full) == "mend_it (v2): Used for mending. [current_time, fills number, why; resume: ask]"


@pytest.mark.needs(*EVERY_DIALOG)
def test_the_report_lists_everything_with_its_languages(settings: Settings) -> None:
    """`python -m app check` shows what was found, and in which languages it speaks."""
    parts = report(settings)
    assert parts["faults"] == []
    assert {dialog["name"] for dialog in parts["dialogs"]} == {
        "orders",
        "planner",
        "player",
        "profile",
        "recall",
        "research",
    }
    assert {observer["name"]: observer["checks"] for observer in parts["observers"]} == {
        "finished": ["pre_check", "post_check"],
        "intent": ["post_check"],
        "supervisor": ["pre_check"],
    }
    entries: list[dict[str, Any]] = [*parts["dialogs"], *parts["observers"], *parts["tools"]]
    assert {entry["name"]: entry["languages"] for entry in entries if entry["languages"] != prompts.languages()} == {}
    assert parts["models"] == {"default": "local:rules"}


@pytest.mark.needs("profile")
def test_the_report_describes_a_dialog(settings: Settings) -> None:
    """A dialog is reported with its tools, observers, form and policies."""
    profile = next(dialog for dialog in report(settings)["dialogs"] if dialog["name"] == "profile")
    assert profile["description"].startswith("Used for getting to know the user")
    assert {name: value for name, value in profile.items() if name != "description"} == {
        "name": "profile",
        "tool": "get_acquainted",
        "tools": ["show_profile", "export_profile"],
        "observers": ["supervisor", "finished", "intent"],
        "form": ["name", "home", "experience", "skills", "interests", "work"],
        "resume": "ask",
        "version": 1,
        "languages": prompts.languages(),
    }


@pytest.mark.needs("standin")
def test_the_report_shows_what_is_not_translated(
    plant: Plant, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A dialog that only English has a prompt for is no fault, and its languages tell."""
    monkeypatch.setattr(prompts, "FOLDER", shutil.copytree(prompts.FOLDER, tmp_path / "prompts"))
    (prompts.FOLDER / "en" / "untranslated").mkdir()
    (prompts.FOLDER / "en" / "untranslated" / "prompt.md").write_text("You break things.", "utf-8")
    plant(dialogs, a_dialog(BODY), "untranslated")
    parts = report(settings)
    assert parts["faults"] == []
    assert [dialog["languages"] for dialog in parts["dialogs"] if dialog["name"] == "untranslated"] == [["en"]]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("tools=lambda settings: [print]", ": tools must be tools, found <built-in function print>"),
        ('observers=["weather"]', " names observers that do not exist: weather"),
    ],
)
@pytest.mark.needs("standin")
def test_a_plug_in_that_breaks_a_rule_is_reported(plant: Plant, settings: Settings, body: str, rule: str) -> None:
    """What it gives every dialog is held to the same rules as what a dialog has."""
    plant(app.plugins, f"from agents.plugin import Plugin\nplugin = Plugin({body})")
    assert report(settings)["faults"] == [f"the plug-in broken{rule}"]


@pytest.mark.needs("standin")
def test_a_role_that_does_not_exist_is_reported(settings: Settings) -> None:
    """Such a setting ends every start, so `check` tells it, too."""
    [fault] = report(settings.model_copy(update={"role_models": {"gardener": "local:rules"}}))["faults"]
    assert fault.startswith("ROLE_MODELS or LLM_PARAMETERS: there is no role gardener; there are: supervisor, observer")


def test_faults_are_reported_together(plant: Plant, settings: Settings) -> None:
    """A broken file and a wrong setting are both told; nothing is raised."""
    plant(dialogs, "")
    parts = report(settings.model_copy(update={"llm_model": "nobody:nothing"}))
    assert len(parts["faults"]) == 2
    assert "nobody:nothing" in parts["faults"][0]
    assert "dialogs/broken.py" in parts["faults"][1]
    assert parts["dialogs"] == []
