"""Turn the answer of a service into a result: the object, the view, the candidates of a choice."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TypeGuard

import jmespath
from jmespath.exceptions import JMESPathError

from agents.events.views import KINDS, LONGEST_FIELD, MOST_ENTRIES, View, is_web, read_view
from agents.remote.http_client import NoAnswer
from agents.remote.result_spec import Cards, Options, TableView, ViewSpec
from agents.remote.tool_spec import ToolSpec
from agents.remote.yaml_file import text_in
from agents.toolkit.questions import one_line
from agents.toolkit.result import Answer, Option, TooMany, choice, request, result
from prompts import phrase

LOG = logging.getLogger(__name__)
LONGEST_LABEL = 200
SLOT = re.compile(r"\{(\w+(?:\.\w+)*)\}")


def answer_of(tool: ToolSpec, body: object, lang: str, words: str = "") -> Answer:
    """Return the result that the body of a good answer holds; `words` are the text for an answer without data.

    Raises:
        NoAnswer: the answer is not what the file says it is.
        TooMany: there is too much to choose from, and the model can narrow it down.
    """
    data = find(tool.result.object, body)
    if tool.options:
        if body is None and words:
            raise NoAnswer("its answer is a text, and has no candidates")
        return _asked(tool, tool.options, data, lang)
    if tool.page:
        url = fill(tool.page.url, data)
        if tool.page.url and not is_web(url):
            raise NoAnswer("its answer has no page to open")
        try:
            return request(fill(text_in(tool.page.ask, lang), data), url=url, back=fill(tool.page.back, data))
        except ValueError as wrong:
            raise NoAnswer(f"its answer has no page to open ({wrong})") from None
    view = view_of(tool.view, data, lang) if tool.view else None
    if message := text_in(tool.result.message, lang):
        return result(message=fill(message, data), view=view)
    if data is None:
        return result(message=words or (phrase("tool_done", lang) if tool.writes else "null"), view=view)
    return result(data, view=view)


def find(path: str, data: object) -> object:
    """Return what a JMESPath expression finds in data.

    Raises:
        NoAnswer: the data is of another shape than the expression needs.
    """
    try:
        value: object = jmespath.search(path, data)
    except JMESPathError as wrong:
        raise NoAnswer(f"its answer does not fit {path!r} ({type(wrong).__name__})") from None
    return value


def fill(template: str, data: object) -> str:
    """Return a template with values of an object in place of its `{name}`s; what is missing is left empty."""
    return SLOT.sub(lambda slot: _worded(_value(slot[1], data)), template)


def view_of(spec: ViewSpec, data: object, lang: str) -> View | None:
    """Return the view of an object; None if the data cannot be shown."""
    body: dict[str, object] = {"kind": spec.kind}
    if isinstance(spec, Cards):
        parts = ("label", "detail", "url", "id")
        rows = _rows(spec.each, data)[:MOST_ENTRIES]
        body["entries"] = [{part: _cell(part, getattr(spec, part), row) for part in parts} for row in rows]
    elif isinstance(spec, TableView):
        body["columns"] = [text_in(column.title, lang) for column in spec.columns]
        rows = _rows(spec.each, data)[:MOST_ENTRIES]
        body["rows"] = [[_cell("", column.cell, row) for column in spec.columns] for row in rows]
    if body.get("entries") == [] or body.get("rows") == []:
        return None
    longest = KINDS[spec.kind].longest
    for name in ({part.name for part in fields(KINDS[spec.kind])} & set(type(spec).model_fields)) - body.keys():
        template = getattr(spec, name)
        text = fill(text_in(template, lang) if isinstance(template, Mapping) else template, data)
        if text:
            body[name] = text[:longest]
    try:
        return read_view(body)
    except ValueError:
        LOG.warning("what a service answered cannot be shown as %s", spec.kind)
        return None


def _asked(tool: ToolSpec, options: Options, data: object, lang: str) -> Answer:
    rows, prompt = _rows(options.each, data), text_in(options.ask, lang)
    if len(rows) > MOST_ENTRIES:
        if tool.can_be_narrowed:
            raise TooMany(len(rows))
        prompt = phrase("choice_cut", lang, prompt=prompt, most=MOST_ENTRIES, count=len(rows))
    return choice(prompt, _candidates(options, rows[:MOST_ENTRIES]))


def _candidates(options: Options, rows: Sequence[object]) -> list[Option]:
    return [
        Option(
            label=one_line(fill(options.label, row))[:LONGEST_LABEL],
            value=row,
            detail=one_line(fill(options.detail, row))[:LONGEST_LABEL],
            id=fill(options.id, row),
            facts={name: fact for name, path in options.facts.items() if _is_fact(fact := find(path, row))},
        )
        for row in rows
    ]


def _is_fact(value: object) -> TypeGuard[str | float]:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _rows(each: str, data: object) -> Sequence[object]:
    rows = find(each, data)
    if rows is not None and not isinstance(rows, list):
        raise NoAnswer(f"its answer has no list at {each!r}")
    return rows or []


def _cell(part: str, template: str, row: object) -> str:
    text = fill(template, row)[:LONGEST_FIELD]
    return "" if part == "url" and not is_web(text) else text


def _value(path: str, data: object) -> object:
    for step in path.split("."):
        if not isinstance(data, Mapping):
            return None
        data = data.get(step)
    return data


def _worded(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case list():
            return ", ".join(_worded(entry) for entry in value)
    return str(value)
