"""Kodi's own description of its methods, by which requests and answers are checked.

Kodi gives it itself (`JSONRPC.Introspect`), in the third draft of JSON Schema. It is licensed as Kodi is, so that no
copy of it lies here.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft3Validator

Schema = Mapping[str, Any]
Call = tuple[Schema, Schema]
"""A request and its answer."""
_NUMBER = re.compile(r"\[\d+\]")


class KodiSchema:
    """The methods and the types of `JSONRPC.Introspect`."""

    def __init__(self, description: Schema) -> None:
        self._methods = description["methods"]
        self._types = {name: _referring(kind) for name, kind in description["types"].items()}

    def request_faults(self, calls: Sequence[Call]) -> set[str]:
        """Return the faults of the requests."""
        requests = {json.dumps([request["method"], request["params"]]) for request, _ in calls}
        return {fault for request in requests for fault in self._request_faults(*json.loads(request))}

    def answer_faults(self, calls: Sequence[Call]) -> set[str]:
        """Return the faults of the answers; an error has no schema."""
        answers = {json.dumps([request["method"], answer.get("result")]) for request, answer in calls}
        return {fault for answer in answers for fault in self._answer_faults(*json.loads(answer))}

    def _request_faults(self, method: str, sent: Schema) -> set[str]:
        if method not in self._methods:
            return {f"{method} is no method"}
        params = {param["name"]: param for param in self._methods[method]["params"]}
        faults = {f"{method}: no parameter {name}" for name in set(sent) - set(params)}
        for name, param in params.items():
            if name in sent:
                faults |= self._of(sent[name], param, f"{method} {name}")
            elif param.get("required"):
                faults.add(f"{method}: {name} is missing")
        return faults

    def _answer_faults(self, method: str, result: object) -> set[str]:
        if result is None:
            return set()
        return self._of(result, self._methods[method]["returns"], f"{method} returns")

    def _of(self, value: object, schema: Any, place: str) -> set[str]:
        whole = {**_referring({"type": schema} if isinstance(schema, str) else schema), "types": self._types}
        faults = Draft3Validator(whole).iter_errors(value)
        return {f"{place}: {fault.validator} of {_NUMBER.sub('[]', fault.json_path)}" for fault in faults}


def _referring(schema: Any) -> Any:
    """Return a schema whose references lead into "types"."""
    if isinstance(schema, list):
        return [_referring(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        return {"$ref": f"#/types/{schema['$ref']}"}
    own: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            own[name] = {each: _referring(kind) for each, kind in value.items()}
        elif name == "extends":
            own[name] = [{"$ref": f"#/types/{kind}"} for kind in ([value] if isinstance(value, str) else value)]
        elif name not in ("id", "name", "description", "default"):
            own[name] = _referring(value)
    return own
