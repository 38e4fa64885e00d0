"""Threads, states, notes, tools and reports as lines of text."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from textwrap import indent
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from agents.events import Interrupt
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine, writers_of
from agents.memory.notes import Note
from agents.memory.thread_list import ThreadInfo
from agents.state import SUPERVISOR
from app.presentation.texts import one_line, say, with_list
from prompts import field_label, language, title_of

if TYPE_CHECKING:
    from app.presentation.tool_card import ToolCard

LONGEST_FIRST_LINE = 40
"""The most characters of a thread's first line."""


def columns(rows: Iterable[Sequence[object]]) -> list[str]:
    """Return rows as lines with their cells one below the other; wide characters count double."""
    cells = [[clean(str(cell)).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in cells]


def state_lines(state: Mapping[str, Any]) -> list[str]:
    """Return a thread's state, or another mapping of names to values, one fact a line."""
    return columns((name, _pending(value) if name == "pending" else _fact(value)) for name, value in state.items())


def state_of_talk(state: Mapping[str, Any], lang: str) -> list[str]:
    """Return the state of a conversation, in words for its user."""

    def titled(name: str | None) -> str:
        return title_of(name, lang) if name else say("nobody_else", lang)

    forms = state.get("forms", {})
    values_of_forms = {name: "; ".join(labelled_values(form, name, lang)) for name, form in forms.items()}
    rows = [
        ("holds", titled(state.get("dialog"))),
        ("waits", ", ".join(map(titled, reversed(state.get("paused", []))))),
        ("asked", _pending(state["pending"]) if state.get("pending") else ""),
        ("later", "; ".join(str(wish.get("brief", "")) for wish in state.get("wishes", []))),
        *(("known", f"{titled(name)}: {values}") for name, values in values_of_forms.items() if values),
        ("turns", str(state.get("turn", 0))),
        ("language", (language(state.get("lang") or lang).names or (lang,))[0]),
    ]
    return columns((say(f"talk.{key}", lang), value) for key, value in rows if value)


def answers(question: Interrupt | None) -> str:
    """Return the possible answers to a question, in one line."""
    if question is None:
        return "-"
    options = [f"{number} {option['label']}" for number, option in enumerate(question.options, 1)]
    return clean(" · ".join(options or [f"{field['label']}: …" for field in question.fields] or [question.url]))


def thread_lines(threads: Sequence[ThreadInfo]) -> list[str]:
    """Return the threads, one a line, below a headline."""
    head = ("THREAD", "USER", "TURNS", "LAST ACTIVITY", "FIRST LINE")
    rows = ((info.thread, info.user, info.turns, moment(info.active_ms), first_line(info)) for info in threads)
    return columns([head, *rows])


def own_thread_lines(threads: Sequence[ThreadInfo], names: Sequence[str]) -> list[str]:
    """Return a person's threads, a line each: their first line, the time of the last, and the name."""
    return columns((first_line(info), moment(info.active_ms), name) for info, name in zip(threads, names, strict=True))


def first_line(info: ThreadInfo) -> str:
    """Return the beginning of the user's first message in a thread."""
    return one_line(info.first, LONGEST_FIRST_LINE)


def note_lines(notes: Sequence[Note]) -> list[str]:
    """Return the notes to people, one a line, below a headline."""
    rows = (
        (moment(note.at_ms), note.thread, moment(note.delivered_ms) if note.delivered_ms else "-", note.text)
        for note in notes
    )
    return columns([("ASKED", "THREAD", "DELIVERED", "QUESTION"), *rows])


def tool_lines(cards: "Sequence[ToolCard]") -> list[str]:
    """Return the tools, one a line, below a headline."""
    head = ("TOOL", "OF", "KIND", "EFFECT", "EXAMPLES")
    rows = ((card.name, _fact(card.owners), card.kind, card.traits.effect, _fact([*card.examples])) for card in cards)
    return columns([head, *rows])


def card_lines(card: "ToolCard") -> list[str]:
    """Return the card of a tool as lines: its facts, its schemas, its texts by language."""
    texts = ("descriptions", "examples", "parameters", "result")
    shown = state_lines({name: value for name, value in card.plain().items() if name not in texts})
    for name, schema in (("parameters", card.parameters), ("result", card.result)):
        written = safe_json(schema, indent=2)
        shown += ["", name, *_indented(written.splitlines() if schema else ["-"])]
    for lang, description in card.descriptions.items():
        examples = [f"- {example}" for example in card.examples.get(lang, ())]
        shown += ["", lang, *_indented(clean(line) for line in [*description.splitlines(), *examples])]
    return shown


def history_lines(lines: Sequence[TranscriptLine], lang: str) -> list[str]:
    """Return a conversation as text, with the people's ids if there are several; further lines are indented."""
    shown, is_named = [], _are_several(lines)
    for line in lines:
        who, text, stopped = _said(line, lang, is_named=is_named)
        text = indent(clean(text).strip(), "    ").strip()
        shown.append(f"{moment(line.at_ms)}  {clean(who)}: {text}{stopped and f'  {stopped}'}")
    return shown


def markdown_lines(lines: Sequence[TranscriptLine], lang: str) -> list[str]:
    """Return the lines of a conversation as paragraphs of Markdown: author and time, and the text as a quotation."""
    parts, is_named = [], _are_several(lines)
    for line in lines:
        who, text, stopped = _said(line, lang, is_named=is_named)
        quoted = "\n".join(f"> {row}".rstrip() for row in text.split("\n"))
        parts.append(f"**{who}** · {moment(line.at_ms)}{stopped and f' · {stopped}'}\n\n{quoted}")
    return parts


def conversation_markdown(
    thread: str, lines: Sequence[TranscriptLine], forms: Mapping[str, Mapping[str, object]], lang: str
) -> str:
    """Return a conversation as Markdown: its lines with authors and times, and the dialogs' forms."""
    parts = [f"# {say('export.title', lang, thread=thread)}"]
    parts += markdown_lines(lines, lang)
    if forms:
        parts.append(f"## {say('export.forms', lang)}")
    for name, form in forms.items():
        values = (", ".join(map(str, value)) if isinstance(value, list) else value for value in form.values())
        rows = [f"- {field}: {value}" for field, value in zip(form, values, strict=True) if value not in (None, "")]
        parts.append("\n".join([f"### {name}", "", *rows]))
    return clean("\n\n".join(parts)) + "\n"


def _are_several(lines: Sequence[TranscriptLine]) -> bool:
    return len(writers_of(lines)) > 1


def _said(line: TranscriptLine, lang: str, *, is_named: bool) -> tuple[str, str, str]:
    """Return the author of a line, its text with the sources, and a mark if it was stopped.

    A user is "you", or with `is_named`, where several people took part, their id.
    """
    who = line.speaker or SUPERVISOR
    if line.role == "user" and not is_named:
        who = say("you", lang)
    text = with_list(line.text.strip(), line.metadata.get("citations", []))
    return who, text, f"⏹ {say('stopped', lang)}" if line.metadata.get("interrupted") else ""


def report_lines(report: Mapping[str, Any], lang: str) -> list[str]:
    """Return the discovered parts and their faults, section by section."""
    shown = [say("check.dialogs", lang)]
    for dialog in report["dialogs"]:
        facts = {name: value for name, value in dialog.items() if name != "name"}
        shown += _indented([clean(dialog["name"]), *_indented(state_lines(facts))])
    for section in ("observers", "tools"):
        rows = [[_fact(value) for value in entry.values()] for entry in report[section]]
        shown += ["", say(f"check.{section}", lang), *_indented(columns(rows))]
    shown += ["", say("check.models", lang), *_indented(columns(report["models"].items()))]
    shown += ["", say("check.plugins", lang), *_indented([", ".join(map(clean, report["plugins"])) or "-"])]
    shown += _indented(
        say("check.uninstalled", lang, name=name, how=how) for name, how in report["uninstalled"].items()
    )
    faults = _indented(clean(fault) for fault in report["faults"])
    warnings = _indented(clean(warning) for warning in report["warnings"])
    shown += ["", say("check.warnings", lang), *warnings] if warnings else []
    return [*shown, "", *([say("check.faults", lang), *faults] if faults else [say("check.no_faults", lang)])]


def moment(at_ms: int) -> str:
    """Return a time in the local time zone, to the minute."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def _pending(value: Sequence[Mapping[str, object]]) -> str:
    """Return the open questions to the user, each with its answers."""
    questions = [Interrupt(**question) for question in value]
    shown = [
        f"{question.kind}: {question.prompt} [{answers(question)}] (--question {question.id})" for question in questions
    ]
    return "; ".join(shown) or "-"


def _fact(value: object) -> str:
    if value is None or value in ([], {}, ""):
        return "-"
    match value:
        case bool():
            return "yes" if value else "no"
        case list() if all(isinstance(entry, str) for entry in value):
            return ", ".join(value)
        case list():
            return "; ".join(map(_fact, value))
        case dict():
            return "; ".join(f"{name}: {_nested(entry)}" for name, entry in value.items())
    return str(value)


def _nested(value: object) -> str:
    return f"({_fact(value)})" if isinstance(value, dict) and value else _fact(value)


def labelled_values(form: Mapping[str, object], dialog: str, lang: str) -> list[str]:
    """Return the known values of a form, each behind its label."""
    return [f"{field_label(dialog, name, lang)} – {_fact(value)}" for name, value in form.items() if value]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
