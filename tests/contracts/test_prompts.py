"""Prompts: every language says the same, every text renders, and what is missing is named."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest

import prompts
from agents.conversation.prompt import Prompting
from agents.language.text.stems import letters_of
from agents.state import SUPERVISOR
from agents.toolkit.descriptions import Schemas
from agents.toolkit.help import look_up
from agents.toolkit.tool_search import tool_searches
from app.composition import discover
from app.presentation.texts import tool_title
from prompts import FALLBACK, WORD_KEYED, PromptError, card, lacking, phrase, prompt, table, variables
from tests.support import prompt_snapshot
from tests.support.parts import EVERY_DIALOG

Write = Callable[[str, str], None]
TRANSLATIONS = [lang for lang in prompts.languages() if lang != FALLBACK]
PASSING = {"hand_back", "find_tools", "call_tool", "undo_last"}
"""Tools that no user asks for: their English cards would be empty."""


def files(lang: str, suffix: str) -> set[str]:
    """Return the files of a language, by their names without the suffix."""
    folder = prompts.FOLDER / lang
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob(f"*{suffix}")}


def texts(lang: str) -> list[str]:
    """Return the prompts of a language; a tool's card is not one."""
    return sorted(name for name in files(lang, ".md") if "cards/" not in name)


def placeholders(entries: dict[str, Any], place: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield every entry of a table with the variables that its text wants."""
    for key, entry in entries.items():
        if isinstance(entry, dict) and key not in WORD_KEYED:
            yield from placeholders(entry, f"{place}{key}.")
        else:
            yield f"{place}{key}", set(Template(entry).get_identifiers()) if isinstance(entry, str) else set()


EVERY_TEXT = [(lang, name) for lang in prompts.languages() for name in texts(lang)]
EVERY_TABLE = [
    (lang, name) for lang in TRANSLATIONS for name in sorted(files(lang, ".toml") & files(FALLBACK, ".toml"))
]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Write:
    """Let prompts be read from an empty folder; return a function that writes a file into it."""
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    return write


@pytest.mark.parametrize("suffix", [".md", ".toml"])
@pytest.mark.parametrize("lang", TRANSLATIONS)
def test_a_language_has_the_same_files_as_english(lang: str, suffix: str) -> None:
    """Nothing is left untranslated, and nothing exists in a translation only."""
    assert files(lang, suffix) - {f"cards/{tool}" for tool in PASSING} == files(FALLBACK, suffix)


@pytest.mark.parametrize(("lang", "name"), EVERY_TEXT)
def test_a_translation_wants_the_same_variables(lang: str, name: str) -> None:
    """The code that fills a prompt in need not know its language."""
    assert variables(name, lang) == variables(name, FALLBACK)


@pytest.mark.parametrize(("lang", "name"), EVERY_TABLE)
def test_a_translated_table_has_the_same_entries(lang: str, name: str) -> None:
    """Tables have the same keys in every language, and their sentences the same variables."""
    assert lacking(name, lang) == []
    own, english = (dict(placeholders(table(name, it))) for it in (lang, FALLBACK))
    further = {entry for entry in own.keys() - english.keys() if not entry.startswith("words.")}
    assert further == set(), "only words of time, which are keyed by what they mean, may be more"
    assert {entry: own[entry] for entry in english} == english


@pytest.mark.parametrize(("lang", "name"), EVERY_TEXT)
def test_every_prompt_renders(lang: str, name: str) -> None:
    """A prompt that is given its variables has them in its text, and no dollar sign is left."""
    values = {variable: f"<{variable}>" for variable in variables(name, lang)}
    text = prompt(name, lang, **values)
    assert text
    assert "$" not in text
    assert all(value in text for value in values.values())


@pytest.mark.parametrize("lang", prompts.languages())
def test_every_sentence_renders(lang: str) -> None:
    """A sentence that is given its variables is never left with a dollar sign."""
    sentences = {key: text for key, text in table("texts", lang).items() if isinstance(text, str)}
    for key, names in placeholders(sentences):
        assert "$" not in phrase(key, lang, **dict.fromkeys(names, "…")), key


@pytest.mark.parametrize("lang", prompts.languages())
def test_every_card_has_examples(lang: str) -> None:
    """A tool's card shows how people ask for it; in a translation it also describes the tool."""
    for name in files(lang, ".md") - set(texts(lang)):
        description, examples = card(tool := name.rpartition("/")[2], lang)
        assert examples or tool in PASSING, name
        assert description or lang == FALLBACK, name


@pytest.mark.parametrize("lang", prompts.languages())
def test_every_step_has_a_title(lang: str) -> None:
    """Each language has a title in plain words for every step of a shipped tool."""
    speakers, _ = discover()
    passing = {dialog.tool for dialog in speakers.dialogs.values()} | {"hand_back"}
    steps = [(speaker.name, tool.name) for speaker in speakers for tool in speaker.tools if tool.name not in passing]
    assert steps
    for speaker, tool in (*steps, (SUPERVISOR, "find_tools"), (SUPERVISOR, "call_tool")):
        titles = [table(file, lang).get("titles", {}) for file in (f"{speaker}/confirm", "confirm")]
        assert any(tool in each for each in titles), (speaker, tool)
        assert letters_of(tool_title(tool, speaker, lang), lang) > 1, (speaker, tool)


def test_the_core_titles_no_tool_of_a_dialog() -> None:
    """The titles of a dialog's tools stand in its own folder, so that they go with it."""
    speakers, _ = discover()
    owners: dict[str, set[str]] = {}
    for speaker in speakers:
        for tool in speaker.tools:
            owners.setdefault(tool.name, set()).add(speaker.name)
    owned = {tool for tool, names in owners.items() if len(names) == 1 and SUPERVISOR not in names}
    texts = table("confirm", FALLBACK)
    assert owned & {*texts["titles"], *texts.get("steps", {})} <= {"fill_form"}, "a form's tool is the engine's"


@pytest.mark.needs("research")
def test_a_step_of_a_search_claims_no_web() -> None:
    """The step of a search says what holds for every source; the question before queries go out names the web."""
    assert (tool_title("search", "research", "en"), table("research/confirm", "en")["titles"]["search"][:14]) == (
        "Look it up",
        "Search the web",
    )


def test_the_help_pages_answer_in_russian() -> None:
    """A Russian question finds the section on it."""
    assert "OPENAI_API_KEY" in str(look_up("как подключить модель", "ru"))
    assert "forget" in str(look_up("как удалить мои данные", "ru"))


def test_a_missing_translation_falls_back_to_english(folder: Write) -> None:
    """Prompts, tables and single sentences that a language lacks are taken from English."""
    folder("en/greeting.md", "Hello, $user.")
    folder("en/texts.toml", 'bye = "Bye."\nthanks = "Thanks."')
    folder("ru/texts.toml", 'bye = "Пока."')
    folder("en/forms/talk.toml", 'label = "talk"')
    assert prompt("greeting", "ru", user="Ann") == "Hello, Ann."
    assert variables("greeting", "ru") == {"user"}
    assert (phrase("bye", "ru"), phrase("thanks", "ru")) == ("Пока.", "Thanks.")
    assert table("forms/talk", "ru") == {"label": "talk"}
    assert prompts.translated("greeting") == ["en"]


def test_a_translation_is_preferred(folder: Write) -> None:
    """English only serves where a language has no text of its own."""
    for lang in ("en", "ru"):
        # A folder is a language as soon as it holds a text itself.
        folder(f"{lang}/texts.toml", 'bye = "Bye."')
    folder("en/welcome/prompt.md", "Welcome.")
    folder("ru/welcome/prompt.md", "Добро пожаловать.")
    assert prompt("welcome/prompt", "ru") == "Добро пожаловать."
    assert prompts.translated("welcome/prompt") == ["en", "ru"]


def test_a_missing_prompt_is_named() -> None:
    """The error of a prompt missing in all languages names the file to write."""
    with pytest.raises(PromptError, match=r"prompts/en/nobody/prompt\.md is missing"):
        prompt("nobody/prompt", "ru")
    with pytest.raises(PromptError, match=r"prompts/en/texts\.toml has no sentence 'nothing'"):
        phrase("nothing", "ru")


@pytest.mark.needs("help_links")
def test_a_missing_variable_is_named() -> None:
    """The error of a missing variable names the variable and the file."""
    with pytest.raises(PromptError, match=r"prompts/ru/help_links/model\.md needs the variable \$unknown"):
        prompt("help_links/model", "ru")
    with pytest.raises(PromptError, match=r"prompts/ru/texts\.toml.*'recap'.*\$question"):
        phrase("recap", "ru", title="", known="")


@pytest.mark.needs("help_links")
@pytest.mark.parametrize("value", ["{name}", "{}", "$now", "${now}", "$$", "costs $5", r"\1", "100 %s"])
def test_inserted_values_are_left_as_they_are(value: str) -> None:
    """Braces and dollar signs in what users and models said are never read as variables."""
    assert f"reply with the single word {value}." in prompt("help_links/model", "en", unknown=value)
    assert value in phrase("note_asked", "en", text=value)


@pytest.fixture(scope="module")
def composed() -> dict[str, str]:
    """Compose the prompt of each speaker in each language."""
    return prompt_snapshot.snapshots()


@pytest.mark.needs(*EVERY_DIALOG)
@pytest.mark.parametrize("name", sorted(prompt_snapshot.stored()))
def test_what_a_speaker_is_told_was_reviewed(name: str, composed: dict[str, str]) -> None:
    """The composed prompts are those in `tests/prompts`; `python -m tests.support.prompt_snapshot` writes them anew."""
    assert composed[name] == prompt_snapshot.stored()[name]


def test_every_speaker_has_a_snapshot(composed: dict[str, str]) -> None:
    """Each speaker has a snapshot in each language, and none is left of those that are gone."""
    assert composed.keys() == prompt_snapshot.stored().keys()


def test_a_snapshot_does_not_depend_on_the_day(composed: dict[str, str]) -> None:
    """The present time, the only part of a prompt that changes by itself, is left out."""
    assert all("…" in text for name, text in composed.items() if not name.endswith("/dialogs.md"))
    assert not any(prompt_snapshot.NOW.search(text) for text in composed.values())


NAMED = re.compile(r"<context>|[a-z]+_[a-z_]+…?|\[source=[^]]*\]+|--\w+")
"""Names that stay the same in every language: tools, parameters, marks, switches."""


def shape(name: str, lang: str) -> dict[str, object]:
    """Return the parts of a prompt that no language changes: its headings, its points, and its names."""
    lines = prompts.files(lang, f"{name}.md")
    text = (next(iter(lines.values())) / lang / f"{name}.md").read_text("utf-8")
    starts = [line[:2] for line in text.splitlines() if line.startswith(("# ", "##", "- "))]
    return {"starts": starts, "named": sorted({*NAMED.findall(text)})}


@pytest.mark.parametrize(("lang", "name"), [it for it in EVERY_TEXT if it[0] != FALLBACK and "help" not in it[1]])
def test_a_translation_says_as_much(lang: str, name: str) -> None:
    """A prompt has the same headings, the same number of points, and names the same things in every language."""
    assert shape(name, lang) == shape(name, FALLBACK)


@pytest.mark.parametrize("lang", prompts.languages())
def test_every_parameter_is_described(lang: str) -> None:
    """Each tool that a model is given says in each language what each of its parameters is."""
    speakers, _ = discover()
    prompting = Prompting(speakers, tool_searches(speakers))
    for speaker in speakers:
        tool_search = prompting.tool_searches.get(speaker.name)
        further = [*tool_search.tools.values()] if tool_search else []
        for schema in [*prompting.tools(speaker, lang), *(Schemas().of(tool, lang) for tool in further)]:
            function = schema["function"]
            told = {name: it["description"] for name, it in function["parameters"].get("properties", {}).items()}
            assert all(told.values()), (function["name"], told)
            assert not any(f"\n{name}:" in function["description"].replace("：", ":") for name in told)
