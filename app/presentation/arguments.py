"""Arguments of tools in a person's writing."""

import json
from collections.abc import Sequence

from agents.errors import UsageError
from agents.language.identifiers import MARK, Schema, resolved


def argument(text: str, rule: Schema, root: Schema, where: str, *, may_count: bool = False) -> object:
    """Return the argument in a text: a text or an identifier as it is, anything else from JSON.

    A list may also be written with commas. With `may_count`, a text that reads like a number is one, where the schema
    allows both.

    Raises:
        UsageError: the text is no such argument; the message names the place.
    """
    rule = resolved(rule, root)
    branches = [resolved(branch, root) for branch in rule.get("anyOf") or rule.get("oneOf") or [rule]]
    kinds = {kind for branch in branches for kind in _kinds(branch)}
    is_text = kinds <= {"string", "null"} if may_count else "string" in kinds
    if is_text or any(MARK in branch or text in branch.get("enum", ()) for branch in branches):
        return text
    if "array" in kinds and text[:1] not in ("[", "{"):
        entry: Schema = next((branch["items"] for branch in branches if "items" in branch), {})
        return [
            argument(part.strip(), entry, root, where, may_count=may_count) for part in text.split(",") if part.strip()
        ]
    try:
        return json.loads(text)
    except ValueError:
        if kinds & {"string", ""}:
            return text
        raise UsageError(f'{where} is written as JSON (2, true, [1, 2], ["a"]); found {text!r}') from None


def _kinds(rule: Schema) -> Sequence[str]:
    """Return the types that a rule allows; "" where it leaves them open."""
    kind = rule.get("type", "string" if "enum" in rule else "")
    return kind if isinstance(kind, list) else [kind]
