"""A team's own folders: searched beside the shipped ones, which can be switched off."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

import prompts
from agents.toolkit.speaker import Speaker, Speakers
from app.cli import command_line
from app.extensions import Extensions, use
from app.presentation.text_files import misfits, no_languages, read_all, stray, unowned, unread
from tests.support.places import ROOT
from tests.support.warm_python import run_python

DIALOG = '''"""A clinic."""

from dialogs import Dialog
from dialogs.clinic.wording import ABOUT

dialog = Dialog(tool="visit_the_clinic", description=ABOUT, observers=["supervisor", "calm"])
'''
OBSERVER = '''"""Sees nothing."""

from agents.conversation.scene import Scene
from agents.state.verdict import STAY, Verdict
from observers import Observer


async def pre_check(scene: Scene) -> Verdict:
    """Stay."""
    return STAY


observer = Observer(pre_check=pre_check)
'''
FILES = {
    "dialogs/clinic/__init__.py": DIALOG,
    "dialogs/clinic/wording.py": '"""Words."""\n\nABOUT = "Used for visits to the clinic."\n',
    "observers/calm.py": OBSERVER,
    "prompts/en/clinic/prompt.md": "You speak for a clinic.",
    "prompts/en/clinic/cards/visit_the_clinic.md": "- I want to see a doctor\n",
    "prompts/en/clinic/standin.toml": '[ask]\nvisit_the_clinic.brief = "What about?"\n',
    "prompts/en/observers/calm.md": "Are they calm?\n---\n",
    "prompts/en/opening.md": "Greet the patient.",
    "prompts/en/texts.toml": 'yes = "Certainly"\n',
    "prompts/de/language.toml": 'names = ["Deutsch"]\n',
}


def written(folder: Path, files: Mapping[str, str], encoding: str = "utf-8") -> Path:
    """Write files into a folder, and return the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding)
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder of a team's own."""
    return written(tmp_path / "own", FILES)


def run(folder: Path, *arguments: str, code: int = 0, **settings: str) -> str:
    """Run the application in a process of its own; return what it prints."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder.parent}/try.db", "LLM_MODEL": "local:rules"}
    environment |= {"EXTENSIONS": str(folder), "APP_LANG": "en", **settings}
    done = run_python("app", *arguments, folder=ROOT, environment=environment)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_folder_of_ones_own_is_searched(own: Path) -> None:
    """Its dialog, its observer, its language and its texts are there, and the shipped dialogs are not."""
    report = json.loads(run(own, "check", "--json", SHIPPED_DIALOGS="none"))
    assert [(dialog["name"], dialog["observers"]) for dialog in report["dialogs"]] == [
        ("clinic", ["supervisor", "calm"])
    ]
    assert [observer["name"] for observer in report["observers"]] == ["calm", "finished", "supervisor"]
    assert report["faults"] == []
    assert (
        "own/prompts/ru/clinic/cards/visit_the_clinic.md is missing: dialog clinic has no examples of requests"
        in (report["warnings"])
    )
    assert "clinic" in run(own, "ask", "I want to see a doctor", SHIPPED_DIALOGS="none", APP_LANG="de")
    assert "visit_the_clinic" in run(own, "tools", SHIPPED_DIALOGS="none")
    assert "calm.pre_check" in run(own, "graph", SHIPPED_DIALOGS="none")


TRIP = {
    "dialogs/trip.py": """from langchain_core.tools import tool
from pydantic import BaseModel

from dialogs import Dialog


class Trip(BaseModel):
    city: str | None = None


@tool
async def book_trip(city: str) -> str:
    \"\"\"Book a trip.\"\"\"
    return city


dialog = Dialog(tool="plan_a_trip", description="Used for planning a trip.", form=Trip, tools=[book_trip])
""",
    "prompts/en/trip/prompt.md": "You plan a trip.",
    "prompts/en/trip/form.toml": '[city]\nlabel = "city"\nquestion = "Where to?"\nexamples = ["to {city}"]\n',
    "prompts/en/trip/cards/plan_a_trip.md": "- I want to plan a trip\n",
}
FORM = "prompts/en/trip/form.toml"
MARKED = TRIP["dialogs/trip.py"].replace("None = None", 'None = Field(None, json_schema_extra={"askd": False})')
MARKED = MARKED.replace("BaseModel\n\n", "BaseModel, Field\n\n", 1)
SETTING = """from pydantic_settings import BaseSettings

from agents.plugin import Plugin


class Late(BaseSettings, extra="ignore"):
    turn_calls: int = 3


plugin = Plugin(settings=Late)
"""
MISTAKES = [
    (FORM, "[city\n", "own/prompts/en/trip/form.toml is not TOML: Expected"),
    ("prompts/en/trip/prompt.md", "Gr\xfc\xdfe", "own/prompts/en/trip/prompt.md is not UTF-8"),
    (FORM, TRIP[FORM] + "[town]\n", "own/prompts/en/trip/form.toml: there is no field 'town'; there are: city"),
    (FORM, TRIP[FORM].replace("{city}", "{cty}"), "own/prompts/en/trip/form.toml: an example names {cty}, no field"),
    (FORM, TRIP[FORM].replace("label", "lable"), "own/prompts/en/trip/form.toml: [city]: lable: Extra inputs are"),
    ("dialogs/trip.py", TRIP["dialogs/trip.py"].replace("book_trip", "add_todos"), "each have a tool called add_todos"),
    ("prompts/en/supervisor.md", "You are $name.", "own/prompts/en/supervisor.md: nothing fills in $name"),
    ("prompts/ru/texts.toml", 'sorry_internal = "$nobody"\n', "own/prompts/ru/texts.toml: nothing fills in $nobody"),
    (FORM, TRIP[FORM] + "values.Oslo = ['the capital']\n", "form.toml: [city] values.Oslo: the field permits no fixed"),
    ("prompts/en/trip/confirm.toml", "[titles]\nbook_trp = 'Book'\n", "and no tool is that; do you mean 'book_trip'?"),
    ("prompts/en/trip/confirm.toml", "[arguments]\ncty = 'where'\n", "and no tool takes that; do you mean 'city'?"),
    (
        "dialogs/trip.py",
        MARKED,
        "Dialog.form 'city': json_schema_extra has 'askd': False; there are ('asked', '",
    ),
    (
        "plugins/late.py",
        SETTING,
        "own/plugins/late.py: the setting TURN_CALLS is one of app/settings.py, too",
    ),
    ("dialogs/my-trip.py", TRIP["dialogs/trip.py"], "dialogs/my-trip.py: 'my-trip' is not a name"),
]


@pytest.mark.slow
@pytest.mark.needs("planner")
@pytest.mark.parametrize(("name", "text", "line"), MISTAKES)
def test_every_file_that_a_turn_reads_is_checked(tmp_path: Path, name: str, text: str, line: str) -> None:
    """A fault is one line with the file and the rule, in `check` and at each start."""
    folder = written(tmp_path / "own", {**TRIP, name: text}, "latin-1")
    assert line in run(folder, "check", code=2)
    if name == "prompts/en/trip/prompt.md":
        told = run(folder, "ask", "I want to plan a trip", code=2)
        assert line in told
        assert len(told.splitlines()) == 1


CALM = {name: FILES[name] for name in ("observers/calm.py", "prompts/en/observers/calm.md")}


@pytest.mark.slow
@pytest.mark.needs("planner")
def test_what_is_missing_is_a_warning(tmp_path: Path) -> None:
    """First a dialog that nobody can ask for; the operator also reads which form lacks the question of a field."""
    folder = written(tmp_path / "own", {**TRIP, **CALM, FORM: '[city]\nlabel = "city"\n'})
    (folder / "prompts/en/trip/cards/plan_a_trip.md").unlink()
    # Pydantic would warn of a parameter that is called like a method of its own.
    module = folder / "dialogs/trip.py"
    module.write_text(module.read_text("utf-8").replace("book_trip(city", "book_trip(json"), "utf-8")
    first, *others = json.loads(run(folder, "check", "--json"))["warnings"]
    assert first == "own/prompts/en/trip/cards/plan_a_trip.md is missing: dialog trip has no examples of requests"
    assert "own/prompts/en/trip/form.toml: the field 'city' has no question" in others
    assert "the observer calm watches nobody: name it in Dialog.observers, or set its `always`" in others


@pytest.mark.slow
@pytest.mark.needs("planner")
def test_a_permitted_value_is_taken_by_its_other_words(tmp_path: Path) -> None:
    """A bare one answers the form's question, whoever might be meant otherwise."""
    module = "dialogs/trip.py"
    choice = TRIP[module].replace("city: str | None", 'city: Literal["Oslo", "Bergen"] | None')
    texts = {module: f"from typing import Literal\n\n{choice}", FORM: TRIP[FORM] + 'values.Oslo = ["the capital"]\n'}
    folder = written(tmp_path / "own", {**TRIP, **texts})
    assert "Where to?" in run(folder, "ask", "I want to plan a trip")
    trace = run(folder, "ask", "The capital!", "--trace")
    assert "a choice for city" in trace
    assert "Noted: city – Oslo." in trace


@pytest.mark.slow
def test_an_installed_package_brings_dialogs(own: Path) -> None:
    """The application searches installed packages, too; a wrong entry point is one line at the start."""
    package = own.rename(own.with_name("clinic_package"))
    (package / "__init__.py").write_text("", "utf-8")
    about = package.parent / "clinic-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: clinic\nVersion: 1.0\n", "utf-8")
    entry = about / "entry_points.txt"
    entry.write_text("[dialog_supervisor.dialogs]\nclinic = clinic_package\n", "utf-8")
    path = str(package.parent)
    assert "clinic" in run(package, "check", EXTENSIONS="", PYTHONPATH=path)
    entry.write_text("[dialog_supervisor.dialogs]\nclinic = nowhere\n", "utf-8")
    output = run(package, "check", code=2, EXTENSIONS="", PYTHONPATH=path)
    assert "the entry point clinic of dialog_supervisor.dialogs must name a package, found 'nowhere'" in output


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"EXTENSIONS": "own/nowhere"}, "EXTENSIONS: Value error, there is no folder"),
        ({"SHIPPED_DIALOGS": "gardener"}, "SHIPPED_DIALOGS: there is no 'gardener'; there are: "),
        ({"EXTENSIONS": "own"}, "observers/finished is in"),
    ],
)
def test_a_wrong_setting_or_a_taken_name_is_one_line(
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, str],
    fault: str,
) -> None:
    """Every command ends with a line that says what is wrong, and with exit code 2."""
    monkeypatch.chdir(own.parent)
    (own / "observers" / "finished.py").write_text(OBSERVER, "utf-8")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert command_line.main(["tools"]) == 2
    output = capsys.readouterr().err
    assert fault in output
    assert output.count("\n") == 1


def test_a_team_may_begin_without_any_dialog(own: Path) -> None:
    """The cards of tools that only dialogs have are no fault as long as there is none."""
    shutil.rmtree(own)
    own.mkdir()
    assert "No faults." in run(own, "check", SHIPPED_DIALOGS="none", LLM_MODEL="openai:none", OPENAI_API_KEY="none")


@pytest.mark.parametrize(("file", "text", "line"), [
    ("en/clinic/phrases.toml", "titel = 'x'", "clinic/phrases.toml: the application has no entry 'titel' in English"),
    ("en/clinic/phrases.toml", "title = 3", "clinic/phrases.toml: title: Input should be a valid string"),
    ("en/clinic/phrases.toml", "[forget]\nwhol = []", "clinic/phrases.toml: forget.whol: Extra inputs are not"),
    ("en/clinic/confirm.toml", "book = 'Book'", "clinic/confirm.toml: book: Extra inputs are not permitted"),
    ("en/clinic/form.toml", "", "clinic/form.toml has texts for a form that no dialog and no tool of this name has"),
    ("en/texts.toml", "sorry_internal = ['No']", "texts.toml: sorry_internal must be a text, found ['No']"),
    ("de/texts.toml", "sory_internal = 'Ade'", "texts.toml: the application has no entry 'sory_internal' in English"),
    ("de/texts.toml", "tschuess = 'Ade'", "texts.toml: the application has no entry 'tschuess' in English"),
    ("de/language.toml", "names = 'Deutsch'", "language.toml: names: Input should be a valid tuple"),
    ("de/language.toml", "letters = 'z-a'", "language.toml: letters: write a range from its first letter to its last"),
    ("de/language.toml", "letters = 'a z'", "language.toml: letters: write letters, and ranges such as a-z"),
    ("de/language.toml", "stemmer = 'deutsch'", "language.toml: stemmer: there is no stemmer 'deutsch'; there are: "),
    ("de/language.toml", "decimal = 'komma'", "language.toml: decimal: Input should be '.' or ','"),
    ("de/words.toml", "yes = [1]", "words.toml: yes must be a list of texts, found [1]"),
    ("de/words.toml", "[numbers]\nzwei = '2'", "words.toml: numbers.zwei must be a number, found '2'"),
    ("de/schedule.toml", "[patterns]\nafter = ['in {amt}']", "schedule.toml: patterns: 'in {amt}': there is no {amt}"),
    ("de/schedule.toml", "[words.weekday]\n1 = ['mo(']", "schedule.toml: words.weekday.1: 'mo(': missing )"),
    ("de/schedule.toml", "[words.unit]\nwoche = []", "schedule.toml: nothing reads words.unit.woche; there are: sec"),
    ("de/texts.toml", "weekdays = ['Mo']", "texts.toml: weekdays must have 7 entries, found 1"),
    ("de/clinic/form.txt", "", "clinic/form.txt is never read: its name must end with .md or .toml"),
    ("en/clinic/promt.md", "", "clinic/promt.md: the application reads no text of this name; do you mean prompt.md?"),
    ("EN/texts.toml", "sorry_internal = 'No'", ": call the folder by the code of its language, such as en"),
    ("de/words.toml", "yes = ['ja']\n[contractions]\nans = 'an das'", ""),
])  # fmt: skip
def test_an_entry_that_nothing_reads_is_told(own: Path, file: str, text: str, line: str) -> None:
    """A slip in a key, and a text in place of a list, would be taken as if nothing stood there."""
    written(own / "prompts", {file: text})
    try:
        use(Extensions(_env_file=None, extensions=(own,), shipped_dialogs="none"))
        texts, nobody = read_all()[0], Speakers(Speaker(name="supervisor"))
        lines = [*misfits(texts, ["clinic"]), *unread(texts, ["clinic"]), *unowned(texts, nobody), *stray(nobody)]
        lines += no_languages(texts, nobody)
    finally:
        use(Extensions(_env_file=None))
    place = f"own/prompts/{file[:3]}".removesuffix("/" * line.startswith(":"))
    assert [fault.startswith(f"{place}{line}") for fault in lines if fault.startswith("own")] == [True] * bool(line)


def test_own_texts_go_first(own: Path) -> None:
    """A text of an extension takes the place of a shipped one, and of a table only the entries that it has."""
    shipped = prompts.table("texts", "en")
    try:
        use(Extensions(_env_file=None, extensions=(own,), shipped_dialogs="none"))
        assert prompts.prompt("opening", "en") == "Greet the patient."
        assert prompts.table("texts", "en") == {**shipped, "yes": "Certainly"}
        assert prompts.languages()[:2] == ["en", "de"]
        assert set(prompts.files("en", "*/prompt.md").values()) == {own / "prompts"}
    finally:
        use(Extensions(_env_file=None))
    assert prompts.table("texts", "en") == shipped


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (
            'tables=Tables("late", {"make": "CRATE TABLE late (x)"})',
            "the tables of 'late' cannot be made: near \"CRATE\"",
        ),
        (
            'routes=["app.plugins.late.paths"]',
            "own/plugins/late/paths.py, line 1: ImportError: cannot import name 'pie'",
        ),
        (
            'command_line="app.plugins.late.nowhere"',
            "app/plugins/late/nowhere.py: ModuleNotFoundError: No module named",
        ),
        ('routes=["app.plugins.late"]', "own/plugins/late/__init__.py must define `router`"),
        ('tables=Tables("engine", {})', "Tables('engine', …): another plug-in, or the application, has tables of this"),
        pytest.param(
            'command_line="app.plugins.late.usage"',
            "the command 'usage' of usage is there twice: rename your own",
            marks=pytest.mark.needs("usage"),
        ),
        (
            "commands=[SlashCommand(name='help', run=run, description=str)]",
            "late has a command /help, which there is twice: rename it",
        ),
    ],
)
def test_what_is_loaded_later_is_checked(own: Path, field: str, told: str) -> None:
    """`check` tells a fault in SQL, in routes and in commands before a door or a command comes upon it."""
    source = (
        "from agents.memory.connection import Tables\nfrom agents.plugin import Plugin, SlashCommand\n"
        f"async def run(call):\n    return ''\nplugin = Plugin({field})\n"
    )
    command = "import typer\ncommand_line = typer.Typer()\n@command_line.command()\ndef usage():\n    pass\n"
    plugin = {"__init__.py": source, "usage.py": command, "paths.py": "from math import pie\n"}
    written(own / "plugins" / "late", plugin)
    assert told in run(own, "check", code=2, LLM_MODEL="openai:none", OPENAI_API_KEY="none")
