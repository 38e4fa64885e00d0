"""Turn the answer of a service into a result: the object, the view, the candidates of a choice.

Secrets are removed from answers, which may repeat the request.
"""

import base64
import binascii
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeGuard
from urllib.parse import quote, quote_plus

import jmespath
from jmespath.exceptions import JMESPathError

from agents.events.views import KINDS, LONGEST_FIELD, MOST_ENTRIES, View, is_web, read_view
from agents.remote.http_client import NoAnswer
from agents.remote.tool_spec import Cards, Options, TableView, ToolSpec, ViewSpec
from agents.remote.yaml_file import Env, text_in
from agents.toolkit.questions import one_line
from agents.toolkit.result import Answer, Option, TooMany, choice, request, result
from prompts import phrase

HIDDEN = "<secret>"
SHORTEST = 6
"""Characters; what is shorter may be any word or number."""


class Mask:
    """Hides some secrets wherever they stand in data, also as an address, a page, JSON or base64 would spell them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spelled = {form for secret in secrets for form in _spelled(secret) if len(form) >= SHORTEST}
        longest_first = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if spelled else None

    def __call__(self, data: object) -> Any:
        """Return plain data without the secrets: texts, names of members, and numbers, which become texts then."""
        if self._pattern is None or data is None or isinstance(data, bool):
            return data
        if isinstance(data, Mapping):
            return {self(name): self(value) for name, value in data.items()}
        if isinstance(data, list):
            return [self(part) for part in data]
        text = self._pattern.sub(HIDDEN, str(data))
        return text if isinstance(data, str) or HIDDEN in text else data


def masks(spec: ToolSpec, values: Mapping[str, object], sent: Mapping[str, str]) -> tuple[Mask, Mask]:
    """Return what hides secrets in an answer, and what hides all that no model sees in a refusal.

    `sent` is what the service or server is told, `values` how the file says it. A text that stands in the file itself
    may be a secret as well as the name of a category, which an answer may well have.
    """
    secrets = {sent[name]: value.bare(sent[name]) for name, value in values.items() if isinstance(value, Env)}
    hidden = [*secrets, *secrets.values()]
    fixed = [value.fixed for value in spec.parameters.values() if isinstance(value.fixed, str)]
    return Mask(hidden), Mask([*hidden, *sent.values(), *fixed])


def _spelled(secret: str) -> Iterator[str]:
    # "Bearer abc" is told as "abc", too.
    for plain in {secret, secret.rpartition(" ")[2], *_decoded(secret)}:
        yield from (plain, quote(plain, safe=""), quote(plain), quote_plus(plain), html.escape(plain))
        yield json.dumps(plain)[1:-1]
        for packed in (base64.b64encode(plain.encode()), base64.urlsafe_b64encode(plain.encode())):
            yield packed.decode().rstrip("=")


def _decoded(secret: str) -> list[str]:
    scheme, _, packed = secret.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(packed, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]


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
