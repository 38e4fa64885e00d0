"""Forms of pages as data: mocks, and the arguments of calls."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agents.errors import UsageError
from agents.language.identifiers import Schema
from app.plugins.lab.cases import Case
from app.plugins.lab.mocks import Mock
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.simulation import SimulatedUser
from app.presentation.arguments import argument
from app.yaml_file import MisfitValue, validated
from prompts import sentence

DEEPEST = 4
"""Steps that the name of a field may have."""


def form_data(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a form as nested data; the name of a field is the path of its value.

    `a.b` is a member of `a`, `a[]` an entry of a list, `a[].b` a member of such an entry; a repeated member begins
    the next entry. A suffix behind a colon names the format of a text: `json`, or `lines`. Empty fields are left out.

    Raises UsageError: a text is not in its format, or two names contradict each other.
    """
    data: dict[str, Any] = {}
    for name, text in pairs:
        path, _, kind = name.partition(":")
        *parents, last = path.split(".", DEEPEST)
        node, place = data, list[int | str]()
        for depth, parent in enumerate(parents, 1):
            entries, node = node, _inner(node, parent, last if depth == len(parents) else None)
            if not isinstance(node, dict):
                raise LabRefusal("field_twice", field=path)
            place += [parent[:-2], len(entries[parent]) - 1] if parent.endswith("[]") else [parent]
        try:
            value = _read(text.strip().replace("\r\n", "\n"), kind, path)
        except UsageError as wrong:
            raise MisfitValue(str(wrong), [*place, last], partial(sentence, "form_errors", "json"), [path]) from None
        node[last] = [*node.get(last, ()), value] if last.endswith("[]") else value
    filled: dict[str, Any] = _filled(data)
    return filled


def _inner(node: dict[str, Any], name: str, member: str | None) -> Any:
    """Return the value under a name; of a list its last entry, or a new one if the last has the member already."""
    if not name.endswith("[]"):
        return node.setdefault(name, {})
    entries = node.setdefault(name, [])
    if not entries or (member is not None and member in entries[-1]):
        entries.append({})
    return entries[-1]


def _read(text: str, kind: str, where: str) -> Any:
    if kind == "lines":
        return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return from_json(text, where) if text and kind == "json" else text


def from_json(text: str, where: str) -> Any:
    """Return the value of a text in JSON. Raises UsageError, with the place: it is not JSON."""
    try:
        return json.loads(text)
    except ValueError as wrong:
        raise LabRefusal("not_json", where=where, why=wrong) from None


def _filled(data: Any) -> Any:
    if isinstance(data, dict):
        members = {name.removesuffix("[]"): _filled(value) for name, value in data.items()}
        return {name: value for name, value in members.items() if value not in ("", [], {})}
    return [_filled(entry) for entry in data] if isinstance(data, list) else data


def case_of(form: Mapping[str, Any], kept: Case | None) -> Case:
    """Return the case that a form describes; its user, beginning and mocks are those of the kept one.

    Raises UsageError: something in it is wrong.
    """
    turns = [row for row in form.get("turns", ()) if row] or [{}]
    fields = {name: form[name] for name in ("about", "lang", "criterion") if name in form}
    case = validated(Case, {**fields, "turns": turns})
    own = {name: getattr(kept, name) for name in ("user", "device", "begins", "mocks")} if kept else {}
    return case.model_copy(update=own)


def user_of(form: Mapping[str, Any]) -> SimulatedUser:
    """Return the simulated user that a form describes. Raises UsageError: something in it is wrong."""
    fields = {name: value for name, value in form.items() if name in SimulatedUser.model_fields}
    return validated(SimulatedUser, {**fields, "wishes": [row for row in form.get("wishes", ()) if row]})


def mock_of(form: Mapping[str, Any]) -> Mock:
    """Return the mock that a form describes: its rows of `parameters` have names, its `outcomes` a kind and a value.

    Raises UsageError: something in it is wrong.
    """
    rows = [dict(row) for row in form.get("parameters", ())]
    parameters = {row.pop("name"): row for row in rows if "name" in row}
    outcomes = [_outcome(dict(row), place) for place, row in enumerate(form.get("outcomes", ()))]
    fields = {name: value for name, value in form.items() if name in Mock.model_fields}
    return validated(Mock, {**fields, "parameters": parameters, "outcomes": outcomes})


def _outcome(row: dict[str, Any], place: int) -> dict[str, Any]:
    kind, value = row.pop("kind", "text"), row.pop("value", "")
    if kind == "object":
        try:
            return {**row, "object": from_json(value, "object")} if value else row
        except UsageError as wrong:
            reason_in = partial(sentence, "form_errors", "json")
            raise MisfitValue(str(wrong), ("outcomes", place, "value"), reason_in) from None
    if kind == "fails":
        return {**row, "fails": True}
    return {**row, kind: value or "no"}


def arguments_of(
    schema: Schema, texts: Mapping[str, str], tool: str, at: Sequence[int | str] = ()
) -> dict[str, object]:
    """Return the arguments in the texts of a tool's form; empty ones are left out.

    Raises UsageError: one is wrong; `at` is the place of the arguments in the form.
    """
    rules, read = schema.get("properties", {}), dict[str, object]()
    for name, text in ((name, text.strip()) for name, text in texts.items() if text.strip()):
        try:
            read[name] = argument(text, rules.get(name, {}), schema, f"{tool}.{name}", may_count=True)
        except UsageError as wrong:
            reason_in = partial(sentence, "form_errors", "json")
            raise MisfitValue(str(wrong), (*at, name), reason_in, [f"{tool}.{name}"]) from None
    return read
