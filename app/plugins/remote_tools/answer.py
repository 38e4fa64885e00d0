"""Make a tool from its description in a file, and results from the answers of its service or server.

A result holds the object, the view, or the candidates of a choice.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

import jmespath
from jmespath.exceptions import JMESPathError
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from agents.events.views import KINDS, LONGEST_FIELD, MOST_ENTRIES, Notice, View, is_web, read_view
from agents.language.identifiers import MARK, Schema
from agents.state.speaker_state import Json
from agents.toolkit.descriptions import Texts, parameters, with_texts
from agents.toolkit.questions import one_line
from agents.toolkit.result import Answer, Failed, Option, Refused, TooMany, choice, request, result
from agents.toolkit.traits import DAY, Traits, with_traits
from app.plugins.remote_tools.tool_spec import Cards, Options, TableView, ToolSpec, ViewSpec, form_of
from app.yaml_file import text_in
from prompts import sentence

LOG = logging.getLogger(__name__)
phrase = partial(sentence, "remote_tools/phrases")
LONGEST_REASON = 500  # Characters of a refusal that a model reads.
LONGEST_LABEL = 200
SLOT = re.compile(r"\{(\w+(?:\.\w+)*)\}")


class NoAnswer(Exception):
    """There is no answer; the text tells the operator the reason. `again`: a try after `pause` seconds may help.

    `remedy` names the phrase that tells a model what it can do.
    """

    def __init__(self, reason: str, *, again: bool = False, pause: float | None = None, remedy: str = "") -> None:
        super().__init__(reason)
        self.again, self.pause, self.remedy = again, pause, remedy


def tool_of(
    spec: ToolSpec,
    call: Callable[..., Awaitable[Answer]],
    *,
    name: str,
    description: str,
    arguments: type[BaseModel] | Json,
    schema: Schema | None,
    foreign: bool,
) -> BaseTool:
    """Return a tool that runs `call`; a model sees its name, description, arguments and result schema.

    `foreign`: whether the answers of the service or server may hold text that others wrote.
    """
    tool = StructuredTool.from_function(
        coroutine=call,
        name=name,
        description=description,
        args_schema=arguments,
        infer_schema=False,
        response_format="content_and_artifact",
    )
    labels = {key: parameter.label for key, parameter in spec.parameters.items() if parameter.label}
    texts = Texts(descriptions=spec.description, examples=spec.examples, titles=spec.title, labels=labels)
    with_texts(tool, texts)
    traits = Traits(
        kind=spec.kind,
        effect="write" if spec.writes else "read",
        key=spec.key,
        again_after=timedelta(**spec.again_after) if spec.again_after else DAY,
        repeatable=bool(spec.key),
        result=schema,
        form=form_of(f"{name}_form", spec.form) if spec.form else None,
        view=spec.view.kind if spec.view else "",
        permission=spec.permission,
        volatile=True,
        confirm=spec.confirm,
        foreign=foreign if spec.foreign is None else spec.foreign,
        egress=_is_open(parameters(tool)) if spec.egress is None else spec.egress,
    )
    return with_traits(tool, traits)


def _is_open(schema: Schema) -> bool:
    """Tell whether a schema of arguments allows a model any data of its own in one of them."""
    return any(_is_free(rule) for rule in schema.get("properties", {}).values())


def _is_free(rule: object) -> bool:
    if not isinstance(rule, Mapping):
        return True
    if MARK in rule or "enum" in rule or "const" in rule or rule.get("type") in ("boolean", "null"):
        return False
    branches = [branch for key in ("anyOf", "oneOf") for branch in rule.get(key, ())]
    if branches:
        return any(_is_free(branch) for branch in branches)
    return not (rule.get("type") == "array" and "items" in rule) or _is_free(rule["items"])


def answer_of(tool: ToolSpec, body: object, lang: str, words: str = "") -> Answer:
    """Return the result in the body of a good answer; `words` are the text of an answer without data.

    Raises:
        NoAnswer: the answer differs from the file's description.
        TooMany: there is too much to choose from, and the model can narrow it down.
    """
    data = find(tool.result.object, body)
    if tool.options:
        if body is None and words:
            raise NoAnswer("its answer is a text, and has no candidates")
        return _choice(tool, tool.options, data, lang)
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
    """Return the value of a JMESPath expression in data.

    Raises:
        NoAnswer: the data is of another shape than the expression needs.
    """
    try:
        value: object = jmespath.search(path, data)
    except JMESPathError as wrong:
        raise NoAnswer(f"its answer does not fit {path!r} ({type(wrong).__name__})") from None
    return value


def fill(template: str, data: object) -> str:
    """Return a template with values of an object in place of its `{name}`s; a missing value is left empty."""
    paths = {slot: ".".join(f'"{name}"' for name in slot.split(".")) for slot in SLOT.findall(template)}
    return SLOT.sub(lambda slot: _worded(jmespath.search(paths[slot[1]], data)), template)


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
    for name in (KINDS[spec.kind].model_fields.keys() & type(spec).model_fields.keys()) - body.keys():
        template = getattr(spec, name)
        text = fill(text_in(template, lang) if isinstance(template, Mapping) else template, data)
        if text:
            body[name] = text[:longest]
    try:
        return read_view(body)
    except ValueError:
        LOG.warning("what a service answered cannot be shown as %s", spec.kind)
        return None


def _choice(tool: ToolSpec, options: Options, data: object, lang: str) -> Answer:
    rows, prompt = _rows(options.each, data), text_in(options.ask, lang)
    if len(rows) > MOST_ENTRIES:
        if tool.can_be_narrowed:
            raise TooMany(len(rows))
        prompt = phrase("choice_cut", lang, prompt=prompt, most=MOST_ENTRIES, count=len(rows))
    return choice(prompt, [_candidate(options, row) for row in rows[:MOST_ENTRIES]])


def _candidate(options: Options, row: object) -> Option:
    facts = {name: find(path, row) for name, path in options.facts.items()}
    return Option(
        label=one_line(fill(options.label, row))[:LONGEST_LABEL],
        value=row,
        detail=one_line(fill(options.detail, row))[:LONGEST_LABEL],
        id=fill(options.id, row),
        facts={
            name: fact
            for name, fact in facts.items()
            if isinstance(fact, str | int | float) and not isinstance(fact, bool)
        },
    )


def _rows(each: str, data: object) -> Sequence[object]:
    rows = find(each, data)
    if rows is not None and not isinstance(rows, list):
        raise NoAnswer(f"its answer has no list at {each!r}")
    return rows or []


def _cell(part: str, template: str, row: object) -> str:
    text = fill(template, row)[:LONGEST_FIELD]
    return "" if part == "url" and not is_web(text) else text


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


def refusal(spec: ToolSpec, tool: str, body: object, code: str, lang: str) -> Refused:
    """Return the error of a refused call: with the reason in `body`, else with the bare `code`."""
    try:
        reason = find(spec.errors.message, body)
    except NoAnswer:
        reason = None
    text = " ".join((reason if isinstance(reason, str) else code).split())[:LONGEST_REASON] or code
    return Refused(phrase("tool_rejected", lang, tool=tool, reason=text), notice(spec, lang))


def failure(spec: ToolSpec, tool: str, lost: NoAnswer, lang: str) -> Refused | Failed:
    """Return the error of a call without an answer; of a write nobody knows whether it took effect."""
    if lost.remedy and not spec.writes:
        return Refused(phrase(lost.remedy, lang, tool=tool), notice(spec, lang))
    return Failed(notice(spec, lang))


def notice(spec: ToolSpec, lang: str) -> Notice | None:
    """Return the notice to the user on a failed call; None if the file has none."""
    text = text_in(spec.errors.notice, lang)
    return Notice(message=text, level="error") if text else None
