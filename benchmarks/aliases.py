"""Measure small numbers in place of opaque identifiers on real results of a shop: the savings and the restored values.

`python -m benchmarks.aliases --data DIR`: DIR holds `tau_retail` with `replay_train.jsonl`, a task a line: the calls
of one conversation with their arguments and outputs. Each task is a thread with numbers of its own. A result is
written as the model would read it, compact JSON cut at the same length, with the identifiers and with numbers;
records that the shop keeps under their identifiers are given as lists, both times. Arguments are what the model
writes; an identifier that no result of the thread has shown ("never shown": the user named it, or a call that read it
was not recorded) stays as it is, both times. "left" is with numbers, "right" counts arguments with the same meaning.

Tokens are counted as the pieces into which cl100k cuts a text, each at least one token. Of two lower bounds the
difference is an estimate: near, for digits are cut in threes, and each of these is one token.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from agents.language.identifiers import MARK, AliasError, Aliases, resolved
from agents.toolkit.result import written
from benchmarks.pieces import least_tokens
from benchmarks.report import Row, arguments, show
from tests.dialogs.orders.recorded.types import ARGUMENTS, as_shown, result_kind

ALL = "all results"
CALLS = "arguments"


@dataclass
class Sums:
    """Sums over the results of a kind; the second number of each pair is the one with aliases."""

    texts: int = 0
    identifiers: int = 0
    characters: int = 0
    characters_left: int = 0
    tokens: int = 0
    tokens_left: int = 0
    right: int = 0
    unseen: int = 0

    def count(self, plain: Any, hidden: Any) -> None:
        """Add a text, once with identifiers and once with numbers."""
        before, after = written(plain), written(hidden)
        self.texts += 1
        self.characters += len(before)
        self.characters_left += len(after)
        self.tokens += least_tokens(before)
        self.tokens_left += least_tokens(after)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(*(getattr(self, sums_field.name) + getattr(other, sums_field.name) for sums_field in fields(Sums)))


def identifiers(
    data: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the identifiers that a schema within a root, or the root itself, marks, with their kinds, in data order."""
    root = schema if root is None else root
    schema = resolved(schema, root)
    schema = next((branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"), schema)
    if data is None:
        return
    if MARK in schema:
        yield schema[MARK], data
    elif isinstance(data, list):
        for item in data:
            yield from identifiers(item, schema.get("items", {}), root)
    elif isinstance(data, Mapping):
        named = schema.get("propertyNames", {})
        for name, value in data.items():
            yield from identifiers(name, named, root)
            inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties", {})
            yield from identifiers(value, inner if isinstance(inner, Mapping) else {}, root)


def measure(path: Path) -> dict[str, Sums]:
    """Replay the tasks of a file, and return the sums by kind."""
    sums: dict[str, Sums] = {CALLS: Sums()}
    for line in path.read_text("utf-8").splitlines():
        aliases = Aliases()
        for action in json.loads(line)["actions"]:
            _argued(action["arguments"], aliases, sums[CALLS])
            if (kind := result_kind(action["name"])) and "output" in action:
                shown, schema = as_shown(action["output"]), kind.schema
                _resulted(shown, schema, aliases, sums.setdefault(kind.name, Sums()))
    return sums


def _resulted(plain: Any, schema: Mapping[str, Any], aliases: Aliases, into: Sums) -> None:
    hidden = aliases.hide(plain, schema)
    into.count(plain, hidden)
    # The next turn reads the numbers from the database.
    back = Aliases(json.loads(json.dumps(aliases.by_kind))).restore(json.loads(json.dumps(hidden)), schema)
    pairs = list(zip(identifiers(plain, schema), identifiers(back, schema), strict=True))
    into.identifiers += len(pairs)
    into.right += sum(original == restored for original, restored in pairs)


def _argued(args: Mapping[str, Any], aliases: Aliases, into: Sums) -> None:
    """Write arguments with the numbers that the model has read, and count those that keep their meaning."""
    plain: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for name, value in args.items():
        schema = ARGUMENTS.get(name, {})
        pairs = list(identifiers(value, schema))
        is_known = all(identifier in aliases.by_kind.get(kind, {}).values() for kind, identifier in pairs)
        plain[name], hidden[name] = value, aliases.hide(value, schema) if is_known else value
        if not is_known:
            into.unseen += len(pairs)
            continue
        into.identifiers += len(pairs)
        into.right += len(pairs) if means(hidden[name], value, schema, aliases) else 0
    into.count(plain, hidden)


def means(hidden: Any, value: Any, schema: Mapping[str, Any], aliases: Aliases) -> bool:
    """Tell whether the model's arguments are restored to the intended value."""
    try:
        return bool(aliases.restore(hidden, schema) == value)
    except AliasError:
        return False


def rows(sums: Mapping[str, Sums]) -> list[Row]:
    """Return a row for each kind of result, one for all of them, and one for arguments."""
    results = {name: group for name, group in sums.items() if name != CALLS}
    return [
        _row(name, group) for name, group in {**results, ALL: sum(results.values(), Sums()), CALLS: sums[CALLS]}.items()
    ]


def _row(name: str, sums: Sums) -> Row:
    return {
        "what": name,
        "texts": sums.texts,
        "identifiers": sums.identifiers,
        "characters": sums.characters,
        "left": sums.characters_left,
        "saved %": 100 * (1 - sums.characters_left / sums.characters),
        "tokens": sums.tokens,
        "tokens left": sums.tokens_left,
        "tokens saved %": 100 * (1 - sums.tokens_left / sums.tokens),
        "right %": 100 * sums.right / sums.identifiers if sums.identifiers else None,
        "never shown": sums.unseen or None,
    }


def main() -> None:
    """Replay the shop's conversations."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.parse_args()
    show(rows(measure(chosen.data / "tau_retail" / "replay_train.jsonl")), as_json=chosen.json)


if __name__ == "__main__":
    main()
