"""Writes `docs/reference.md` from docstrings, slash commands, prompts and events, for `make reference`."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Literal, cast, get_args, get_origin

import prompts
from agents import events
from agents.command_line import CommandResult
from agents.conversation.scene import Observer, Scene
from agents.events import Event, views
from agents.language.identifiers import Opaque
from agents.memory.connection import Connection, Tables
from agents.models import ModelRequest
from agents.plugin import Plugin, Section, TurnRequest
from agents.state.verdict import Verdict
from agents.toolkit import Option, Refused, Traits, choice, request, result, traits
from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.context import Context
from agents.toolkit.questions import form
from agents.toolkit.result import Failed, Misused, TooMany
from agents.toolkit.services import Services
from agents.toolkit.speaker import Silence
from agents.toolkit.traits import Done, Items
from agents.toolkit.undo import entered
from app.assistant import Assistant, Turn
from app.composition import plugins_found
from app.doors.slash_commands import commands
from dialogs import Dialog, tools_in
from prompts import FALLBACK, variables
from tests.support.pages import PACKAGES
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "reference.md"
HEAD = """# Reference

What the application offers to your code, from its docstrings. `make reference` writes this page.
How to use it: [first-hour.md](first-hour.md), [write-a-dialog.md](write-a-dialog.md),
[write-a-tool.md](write-a-tool.md), [write-an-observer.md](write-an-observer.md).
"""
Documented = type | Callable[..., Any]
PARTS: Sequence[tuple[str, str, Sequence[Documented]]] = (
    ("Dialogs", "from dialogs import Dialog, tools_in", (Dialog, Silence, tools_in)),
    (
        "Plug-ins",
        "from agents.plugin import Plugin, Section, TurnRequest, around",
        (Plugin, Section, TurnRequest, ModelRequest),
    ),
    (
        "What a dialog brings",
        "Of `agents.command_line`, `agents.memory.connection`, and `commands` and `services` of `agents.toolkit`.",
        (Tables, Connection, Services, SlashCommand, CommandCall, CommandResult),
    ),
    (
        "Observers",
        "`from observers import Observer`; `agents.conversation.scene` has `Scene`, `agents.state.verdict` `Verdict`.",
        (Observer, Scene, Verdict),
    ),
    (
        "Tools",
        "`from agents.toolkit import traits, Opaque, Refused, Misused, Failed, Runtime`; `agents.toolkit.traits` has "
        "`Items` and `Done`, `agents.toolkit.undo` has `entered`. `Runtime` is LangChain's `ToolRuntime`; "
        "its `context` is a `Context`.",
        (traits, Traits, Context, Opaque, Refused, Misused, Failed, Items, Done, entered),
    ),
    (
        "Results and views",
        "from agents.toolkit import result, CardList, Table, Link, Player, Document, Notice",
        (
            *(result, views.CardList, views.Entry, views.Table, views.Link, views.Player, views.Day),
            *(views.Document, views.Notice),
        ),
    ),
    (
        "Questions",
        "from agents.toolkit import choice, request, Option, TooMany",
        (choice, Option, request, TooMany),
    ),
)
CLASSES = [member for _, _, members in PARTS for member in members if isinstance(member, type)]
TURN_PARTS = (Turn, Assistant)
SKIPPED = {"Replied", "Guessed", "View"}
"""Events without a door, and the base of the views."""


@dataclass(frozen=True)
class Field:
    """A field of a class: its type and its default as written, and its docstring."""

    type: str
    default: str
    text: str


HEAD_SCHEMA = {
    "v": {"const": events.VERSION},
    "seq": {"type": "integer"},
    "thread": {"type": "string"},
    "turn": {"type": "integer"},
}


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for title, imports, members in PARTS:
        line = f"```python\n{imports}\n```" if imports.startswith("from ") else imports
        parts += [f"## {title}", line, *map(described, members)]
    parts += ["## Forms", paragraph(inspect.getdoc(form)), FORMS]
    parts += ["## Prompts", prompt_table()]
    parts += ["## Settings", SETTINGS]
    parts += ["## Commands", COMMANDS, "## Slash commands", slash_table()]
    parts += ["## A turn", "from app.assistant import Assistant, Turn".join(("```python\n", "\n```"))]
    parts += [*map(described, TURN_PARTS), "## Events", EVENTS, *event_parts()]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


FORMS = """A dialog's form is a pydantic model, and so is a tool's (`@traits(kind="breaker", form=…)`).
An empty default (`None`, `""`, `[]`, `{}`) means "not known yet": the field is asked for. Any other default holds
until the user says otherwise. Every field of a dialog's form has a default; one of a tool's form may be required.

| of a field | what it means |
| --- | --- |
| `description` | what the model is told |
| `max_length` | the most characters, or entries of a list |
| `json_schema_extra={"asked": False}` | in a dialog's form: stored when the user tells it, never asked for |
| `json_schema_extra={"names_user": True}` | in a remembered form: what to call the user |
| `label` in `prompts/<lang>/<dialog>/form.toml`, or `forms/<tool>.toml` | what the user calls it |
| `question`, `examples` there | how it is asked for, and how people tell it unasked |
| `values.<choice> = […]` there | words that also mean a permitted value |"""
SETTINGS = """In the environment, or in `.env`. [.env.example](../.env.example) explains each, with its default;
those of a dialog or a plug-in stand in `.env.example` of its folder."""
COMMANDS = "The table is in the [README](../README.md#commands); `python -m app --help` lists them all."
EVENTS = """Each is one JSON object with `v`, `seq`, `thread`, `turn`, `type`, and the fields below; one with `?` may be
missing. `seq` counts within a turn, `turn` within the thread, both from 1.
Fields may be added; a field is never renamed within one `v`."""


def described(member: Documented) -> str:
    """Return the section of a class or a function."""
    if not isinstance(member, type):
        return f"### `{member.__name__}`\n\n```python\n{signature(member)}\n```\n\n{paragraph(inspect.getdoc(member))}"
    parts = [f"### `{member.__name__}`", paragraph(member.__doc__ and inspect.getdoc(member))]
    bases = [base for base in member.__mro__[1:] if base in CLASSES]
    inherited = {name: field for base in bases for name, field in fields(base).items()}
    parts.append(_field_table({name: it for name, it in fields(member).items() if inherited.get(name) != it}))
    parts += [f"Its further fields are those of `{base.__name__}`." for base in bases]
    parts.append("\n".join(_methods(member)))
    return "\n\n".join(filter(None, parts))


def _field_table(of_class: Mapping[str, Field]) -> str:
    """Return the fields as a table, without the columns that would be empty."""
    cells = [
        [f"`{name}`", f"`{cell(it.type)}`", f"`{cell(it.default)}`" if it.default else "", cell(it.text)]
        for name, it in of_class.items()
    ]
    used = [place for place in range(4) if any(row[place] for row in cells)]
    rows = [["field", "type", "default", "what"], ["---"] * 4, *cells]
    return "\n".join(f"| {' | '.join(row[place] for place in used)} |" for row in rows) if cells else ""


def fields(kind: type) -> dict[str, Field]:
    """Return the public fields of a class and its bases: the type and the default as written, and the docstring."""
    fields_by_name: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        if base is Event or not base.__module__.startswith(PACKAGES):
            continue
        body = _class_body(base)
        for place, node in enumerate(body):
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            name, annotation = node.target.id, ast.unparse(node.annotation)
            if name.startswith("_") or annotation.startswith("ClassVar"):
                continue
            text = _docstring(body[place + 1]) if place + 1 < len(body) else ""
            # A redeclared field keeps its base's docstring.
            text = text or (fields_by_name[name].text if name in fields_by_name else "")
            fields_by_name[name] = Field(_spelled_out(annotation, base), _default(node.value), text)
    return fields_by_name


def _spelled_out(annotation: str, owner: type) -> str:
    """Return a type as written, with the values in place of the name of a Literal."""
    names = vars(sys.modules[owner.__module__])
    plain = re.sub(r"Literal\[(.*?)\]", lambda given: given[1].replace(", ", " | "), annotation)
    return re.sub(r"\w+", lambda word: _values(names.get(word[0])) or word[0], plain)


def _values(kind: object) -> str:
    return " | ".join(map(repr, get_args(kind))) if get_origin(kind) is Literal else ""


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("field", "Field"):
        given = {word.arg: word.value for word in value.keywords}
        factory = given.get("default_factory")
        called = f"{ast.unparse(factory)}()" if isinstance(factory, ast.Name) else ""
        return ast.unparse(given["default"]) if "default" in given else called
    return ast.unparse(value)


def _methods(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        if name.startswith("_") or getattr(member, "__name__", "").startswith("_"):
            continue
        if isinstance(member, property):
            yield f"- `{name}`: {paragraph(inspect.getdoc(member))}"
        elif inspect.isfunction(member) and not (issubclass(kind, Event) and name in ("body", "text", "numbered")):
            text = paragraph(inspect.getdoc(member)).replace("\n\n", " ")
            yield f"- `{signature(member, is_method=True)}`: {text}"


def signature(function: Callable[..., Any], *, is_method: bool = False) -> str:
    """Return a function's name with its parameters and result, as written."""
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if is_method:
        node.args.args = node.args.args[1:]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    is_async = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{is_async}{node.name}({ast.unparse(node.args)}){returned}"


def paragraph(text: str | None) -> str:
    """Return a docstring as Markdown: a paragraph is one line, a "Raises" block a sentence, and code stays code."""
    parts = []
    for part in (text or "").strip().split("\n\n"):
        if part.startswith("    "):
            parts.append(f"```python\n{textwrap.dedent(part)}\n```")
        elif part.startswith("Raises:"):
            raised = re.sub(r"\n {8,}", " ", part.removeprefix("Raises:")).strip().splitlines()
            parts += [
                f"Raises `{kind.strip()}` if {why.strip()}" for kind, _, why in (r.partition(":") for r in raised)
            ]
        else:
            parts.append(" ".join(part.split()))
    return "\n\n".join(parts)


def prompt_table() -> str:
    """Return the table of the common files of `prompts/en/`, each with its variables or its own description."""
    rows = []
    for path in sorted((prompts.FOLDER / FALLBACK).rglob("*")):
        name = path.relative_to(prompts.FOLDER / FALLBACK)
        if path.is_dir() or "cards" in name.parts or name.parts[0] in plugins_found():
            continue
        if path.suffix == ".md":
            given = variables(name.with_suffix("").as_posix(), FALLBACK)
            rows.append(
                f"| `<lang>/{name.as_posix()}` | {', '.join(f'`${it}`' for it in sorted(given)) or 'no variables'} |"
            )
        else:
            first = path.read_text("utf-8").partition("\n")[0]
            rows.append(
                f"| `<lang>/{name.as_posix()}` | {cell(first.removeprefix('#').strip()) if '#' in first else ''} |"
            )
    intro = (
        "Below `prompts/`. A prompt is Markdown and gets these variables; a table is TOML. What a language "
        "lacks is taken from English. The files of a dialog are in `prompts/<lang>/<dialog>/`: `prompt.md`, `cards/`, "
        "`phrases.toml`, `form.toml`, `forms/`, `confirm.toml`, `standin.toml`."
    )
    return "\n".join([intro, "", "| file | variables, or what is in it |", "| --- | --- |", *rows])


def slash_table() -> str:
    """Return the slash commands with their descriptions."""
    rows = [f"| `/{it.name}` | {cell(it.description(FALLBACK))} |" for it in commands().values()]
    return "\n".join(["| command | what |", "| --- | --- |", *rows])


def event_parts() -> Iterator[str]:
    """Yield the section of each event for doors: its docstring, and its own fields."""
    for kind in event_kinds():
        needed = schema_of(kind)["required"]
        own = [(name.rstrip("_"), field.type) for name, field in fields(kind).items()]
        names = [f"`{name}{'' if name in needed else '?'}: {of_type}`" for name, of_type in own]
        of_view = f", kind `{kind.kind}`" if issubclass(kind, views.View) else ""
        yield f"### `{kind.type}`{of_view}\n\n{paragraph(inspect.getdoc(kind))}\n\n{', '.join(names)}"


def event_kinds() -> list[type[Event]]:
    """Return the events that doors and scripts get, in the order of their definitions; views last."""
    kinds: list[type[Event]] = []
    for module in (events, views):
        kinds += [it for it in vars(module).values() if _is_event(it, module) and it.__name__ not in SKIPPED]
    return kinds


def _is_event(member: object, module: ModuleType) -> bool:
    is_kind = isinstance(member, type) and issubclass(member, Event) and member is not Event
    return is_kind and cast(type, member).__module__ == module.__name__


def schema_of(kind: type[Event]) -> dict[str, Any]:
    """Return the JSON schema of an event as doors and scripts get it."""
    schema = kind.model_json_schema(mode="serialization")
    own = {name.rstrip("_"): rule for name, rule in schema["properties"].items() if name not in HEAD_SCHEMA}
    needed = [name.rstrip("_") for name, info in kind.model_fields.items() if info.is_required()]
    of_view = {"kind": {"const": kind.kind}} if issubclass(kind, views.View) else {}
    properties = {**HEAD_SCHEMA, "type": {"const": kind.type}, **of_view, **own}
    head = {"type": "object", "required": [*HEAD_SCHEMA, "type", *of_view, *needed]}
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    plain: dict[str, Any] = _untitled({**head, **definitions, "properties": properties})
    return plain


def _untitled(schema: Any) -> Any:
    """Return a schema without titles, which repeat the names, and without the docstrings of nested classes."""
    if isinstance(schema, list):
        return [_untitled(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _untitled(rule) for key, rule in entry.items()}
        if name in ("properties", "$defs")
        else _untitled(entry)
        for name, entry in schema.items()
        if not (name in ("title", "description") and isinstance(entry, str))
    }


@cache
def _class_body(kind: type) -> Sequence[ast.stmt]:
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    return node.body


def _docstring(node: ast.stmt) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return " ".join(str(cast(ast.Constant, cast(ast.Expr, node).value).value).split()) if is_text else ""


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
