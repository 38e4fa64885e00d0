"""`new`: write the files of a dialog, an observer, a tool or a language of one's own, ready to be edited."""

import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

import dialogs
import observers
import prompts
from agents.command_line import CommandResult
from agents.discovery import ROOT
from agents.errors import UsageError
from agents.graph import build_graph
from agents.toolkit.tool_search import FINDING
from app.composition import discover
from app.plugins.first_steps.commands import Kind
from app.presentation.text_files import LANGUAGE_CODE
from app.presentation.tool_card import owned_tools
from app.settings import Settings, read_settings
from prompts import FALLBACK, languages, sentence, table

TEMPLATES = Path(__file__).with_name("templates")
PHRASES = "first_steps/phrases"
SUFFIX = ".txt"
"""The suffix of the files in `templates/`: they are not code of the application."""
NAME = re.compile(r"[a-z][a-z0-9_]{1,29}")
EXAMPLES: Mapping[Kind, str] = {"dialog": "clinic", "observer": "mood", "tool": "find_doctor", "language": "de"}
FIRST_TEXTS = ("supervisor.md", "texts.toml", "words.toml")
"""The English texts for the beginning of a new language, beside the sentences of plug-ins.

It takes the others from English until they are written."""
TRANSLATE = "EDIT: translate this file; leave what is filled in later as it is."


async def new(kind: Kind, name: str, dialog: str | None) -> CommandResult:
    """Write the files of a new dialog, observer, tool or language.

    They go to the first folder of EXTENSIONS, else beside the shipped ones. No file is overwritten.

    Raises:
        UsageError: the name will not do, a file is there already, or there is no such dialog.
    """
    settings = read_settings()
    start = Start(kind, name, settings, dialog)
    paths = [start.shown(path) for path in start.write()]
    steps = start.next_steps()
    lines = [*(sentence(PHRASES, "new.written", settings.app_lang, path=path) for path in paths), *steps]
    return CommandResult({"written": paths, "next": steps}, lines)


class Start:
    """The files of a new part: its kind, its name, its folder, and the dialog that it belongs to."""

    def __init__(self, kind: Kind, name: str, settings: Settings, dialog: str | None) -> None:
        self.kind, self.name, self.lang = kind, name, settings.app_lang
        self.is_own = bool(settings.extensions)
        self.root = settings.extensions[0] if self.is_own else ROOT
        if not self.is_own and not (ROOT / "pyproject.toml").is_file():
            raise self._refusal("no_checkout")
        self.speakers, self.watching = discover()
        self._check_name()
        self.parts: list[Kind] = [kind]
        self.dialog = dialog or name
        if kind in ("observer", "tool") and (dialog or kind == "observer"):
            self.dialog = self._existing(dialog)
        elif kind == "tool":
            # A tool belongs to a dialog: one of the same name is begun with it.
            self.parts.insert(0, "dialog")
        speaker = self.speakers.dialogs.get(self.dialog)
        self.words = {
            "name": name,
            "title": name.replace("_", " "),
            "dialog": self.dialog,
            "entry": speaker.tool if speaker else f"talk_about_{self.dialog}",
        }

    def write(self) -> list[Path]:
        """Write the files and return their paths.

        Raises:
            UsageError: a file is there already; then none was written.
        """
        texts = dict(self._texts())
        for path in texts:
            if path.exists():
                raise self._refusal("exists", path=self.shown(path))
        conftest = self.root / "tests" / "conftest.py"
        if not conftest.exists():
            texts[conftest] = (TEMPLATES / "folder/tests" / f"conftest.py{SUFFIX}").read_text("utf-8")
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        return sorted(texts)

    def next_steps(self) -> list[str]:
        """Return the next steps, in three lines."""
        folders = {path.relative_to(self.root).parts[0] for path, _ in self._texts()}
        places = [self.shown("")] if self.is_own else sorted(folders)
        check = "check_own" if self.is_own else "check_shipped"
        return [
            self._say("edit", places=" ".join(places)),
            self._say(f"see_{self.kind}", **{word: self.words[word] for word in ("name", "title")}),
            self._say(check),
        ]

    def shown(self, path: Path | str) -> str:
        """Return a path relative to the present folder, where possible."""
        path = self.root / path
        return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()

    def _texts(self) -> Iterator[tuple[Path, str]]:
        """Yield the path and the text of every file."""
        for part in self.parts:
            for template in sorted((TEMPLATES / part).rglob(f"*{SUFFIX}")):
                place = template.relative_to(TEMPLATES / part).as_posix().removesuffix(SUFFIX)
                text = Template(template.read_text("utf-8")).substitute(self.words)
                yield self._place(place.replace("NAME", self.name).replace("DIALOG", self.dialog)), text
            for lang in languages() if part != "language" else ():
                for name, text in table("first_steps/starter", lang)[part].items():
                    path = f"prompts/{lang}/{Template(name).substitute(self.words)}"
                    yield self._place(path), Template(text).substitute(self.words)
        sentences = [path.as_posix() for path in prompts.files(FALLBACK, "*/sentences.toml")]
        for name in (*FIRST_TEXTS, *sentences) if self.kind == "language" else ():
            mark = f"# {TRANSLATE}\n" if name.endswith(".toml") else f"{TRANSLATE}\n\n"
            yield (
                self._place(f"prompts/{self.name}/{name}"),
                mark + (prompts.FOLDER / FALLBACK / name).read_text("utf-8"),
            )

    def _place(self, path: str) -> Path:
        folder, _, file = path.rpartition("/")
        # The name of a test is that of a Python module.
        return self.root / folder / (file.replace("-", "_").lower() if folder == "tests" else file)

    def _check_name(self) -> None:
        is_language = self.kind == "language"
        if not (LANGUAGE_CODE if is_language else NAME).fullmatch(self.name):
            key = "bad_language" if is_language else "bad_name"
            raise self._refusal(key, name=repr(self.name), kind=self.kind, example=EXAMPLES[self.kind])
        if self.name in self._taken() or (not is_language and keyword.iskeyword(self.name)):
            raise self._refusal("taken", name=self.name)

    def _taken(self) -> set[str]:
        if self.kind == "language":
            return {*languages(), *(path.name for path in prompts.FOLDER.iterdir())}
        if self.kind == "observer":
            return {*self.watching, *vars(observers)}
        folders = {path.name for path in (prompts.FOLDER / FALLBACK).iterdir()}
        nodes = build_graph(self.speakers, self.watching, saver=None, store=None).nodes
        names = {*vars(dialogs), *nodes, *folders, "observer"}
        return {*names, *owned_tools(self.speakers), *FINDING} if self.kind == "tool" else names

    def _existing(self, name: str | None) -> str:
        """Return the dialog that was named, else one of this folder, else any."""
        names = self.speakers.dialogs
        if name is None:
            own = [name for name in names if (self.root / "dialogs" / name).exists()]
            if not names:
                raise self._refusal("no_dialog")
            return [*own, *names][0]
        if name not in names:
            raise self._refusal("unknown_dialog", name=name, known=", ".join(names) or "-")
        source = self.root / "dialogs" / name / "__init__.py"
        if self.kind == "tool" and not (source.exists() and "tools_in(__name__)" in source.read_text("utf-8")):
            raise self._refusal("no_tools_folder", name=name, folder=self.shown(""))
        return name

    def _say(self, key: str, **words: object) -> str:
        return sentence(PHRASES, f"new.{key}", self.lang, **words)

    def _refusal(self, key: str, **words: object) -> UsageError:
        return UsageError(self._say(key, **words))
