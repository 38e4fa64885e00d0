"""The parameters of tools as every provider takes them, and the way back for the arguments that a model writes.

Each provider takes another part of JSON Schema. A model sees the part that all of them take: one object at the top,
a known type or a choice of types for every value, entries for every list, enums of texts, names of plain letters. A
schema within this part stays as it is. A value without such a form is written as JSON text, or described in words.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.language.identifiers import Schema, target
from agents.state.speaker_state import Json
from agents.toolkit import argument_forms, json_schema
from agents.toolkit.argument_forms import Way, branch_of, chain, entries_of, json_of, members_of, scalar
from agents.toolkit.json_schema import KEYWORDS, as_list, as_map, choices, described, kinds_of, values_of
from agents.toolkit.notation import GIVEN_IDENTIFIER, Brief

DEEPEST, MOST_PARTS, MOST_STEPS = 8, 1_000, 10_000
"""The most levels and parts of a schema for a model, and the most steps to read it; deeper values are written as JSON
text. References can make a small schema endless."""
LONGEST_BRIEF = 300
"""Characters of a schema in short."""
CUT = "$cut"
"""Among the references of a schema within itself: it is not unrolled further."""
ALL = "all parameters"
DEMANDS = {"type", "enum", "const", "anyOf", "oneOf", *KEYWORDS["array"], *KEYWORDS["string"], *KEYWORDS["number"]}
"""Keywords of a branch with other demands than the properties that belong together."""
ABOUT = ("description", "title", "default")
"""Keywords for values of any type. No other keyword goes to a model: each provider refuses others."""


@dataclass(frozen=True)
class SchemaPart:
    """A part of a schema as a model sees it, and the way back for a value of it; None: the value stays as it is."""

    schema: Json
    back: Way | None = None
    branches: Sequence["SchemaPart"] = ()

    @property
    def is_number(self) -> bool:
        """Whether numbers or booleans fit, and no text does."""
        return self.schema.get("type") in ("number", "integer", "boolean")

    @property
    def is_text(self) -> bool:
        """Whether any text fits."""
        return self.schema.get("type") == "string" and "enum" not in self.schema


@dataclass(frozen=True)
class SchemaPlace:
    """The place of a part: its name for people, its level, and the references that led to it."""

    name: str = ""
    depth: int = 0
    refs: tuple[str, ...] = ()

    def inner(self, name: str) -> "SchemaPlace":
        """Return the place of a part within this one."""
        return SchemaPlace(f"{self.name}{name}".lstrip("."), self.depth + 1, self.refs)


class Translation:
    """A tool's parameters as a model sees them."""

    def __init__(self, schema: Schema) -> None:
        self._root, self._parts, self._steps = json_schema.writable(schema), 0, 0
        self.untold: list[str] = []
        """The rules that a model does not see, each with its place."""
        united, self.words = self._united(self._root, SchemaPlace())
        self.fault = "" if kinds_of(united) in (["object"], []) else "its parameters are not an object"
        """The reason why no model can call the tool; empty if models can."""
        self.original: Schema = {**united, "type": "object"}
        """The parameters themselves, as one object."""
        argument = self._object(dict(self.original), SchemaPlace())
        self.schema, self._back = argument.schema, argument.back

    def restored(self, args: Json) -> Json:
        """Return arguments as the tool itself takes them."""
        restored: Json = self._back(args) if self._back else args
        return restored

    def strange(self, args: Json) -> list[str]:
        """Return the names of arguments, as the tool itself takes them, that the tool does not have."""
        own = _members(self.original)
        is_free = not own and isinstance(self.original.get("additionalProperties"), Mapping)
        return [] if is_free else sorted(args.keys() - own.keys())

    def _plain(self, schema: object, place: SchemaPlace) -> tuple[Json, SchemaPlace] | None:
        """Return a schema without references and `allOf`, and its place behind them; None if nothing fits it."""
        if schema is False:
            return None
        self._steps += 1
        if self._steps > MOST_STEPS:
            return {}, replace(place, refs=(CUT,))
        node = as_map(schema)
        while isinstance(reference := node.pop("$ref", None), str):
            named, is_cut = target(reference, self._root), place.refs.count(reference) > 1
            if named is False:
                return None
            if named is None:
                self.untold.append(f"{place.name or ALL}: {reference}, which is not there")
            node = {**as_map(named), **node}
            place = replace(place, refs=(*place.refs, CUT if is_cut else reference))
            if is_cut:
                return node, place
        for inner in as_list(node.pop("allOf", None)):
            plain = self._plain(inner, place)
            if plain is None:
                return None
            node, place = json_schema.both(node, plain[0]), plain[1]
        return json_schema.nullable(node), place

    def _branches(self, branch: object, place: SchemaPlace) -> list[tuple[Json, SchemaPlace]]:
        """Return a branch of a choice; if it is a choice itself, its branches."""
        plain = self._plain(branch, place)
        inner = choices(plain[0]) if plain and CUT not in plain[1].refs else []
        if not plain or not inner:
            return [plain] if plain else []
        rest = {key: value for key, value in plain[0].items() if key not in ("anyOf", "oneOf")}
        own = [each for part in inner for each in self._branches(part, plain[1])]
        return [(json_schema.both(rule, rest), there) for rule, there in own]

    def _united(self, schema: object, place: SchemaPlace) -> tuple[Json, str]:
        """Return one object with the properties of all objects of a choice, and the groups of them in words."""
        node, place = self._plain(schema, place) or ({}, place)
        branches = [self._united(branch, place)[0] for branch in choices(node) if CUT not in place.refs]
        node = {name: value for name, value in node.items() if name not in ("anyOf", "oneOf")}
        branches = [branch for branch in branches if kinds_of(branch) in (["object"], [])]
        if not branches:
            return node, ""
        members: dict[str, list[object]] = {}
        for branch in (node, *branches):
            if isinstance(branch.get("additionalProperties"), Mapping):
                self.untold.append(f"{place.name or ALL}: additionalProperties")
            for name, inner in _members(branch).items():
                if inner not in members.setdefault(name, []):
                    members[name].append(inner)
        needed = [as_list(branch.get("required")) for branch in branches]
        common = [name for name in needed[0] if all(name in names for names in needed)]
        keys = json_schema.safe_names(members, "field")
        words = " | ".join(dict.fromkeys(json_schema.group(branch, keys) for branch in branches))
        united = {
            **node,
            "properties": {name: all_[0] if len(all_) == 1 else {"anyOf": all_} for name, all_ in members.items()},
            "required": [*dict.fromkeys((*as_list(node.get("required")), *common))],
        }
        return united, words

    def _part(self, schema: object, place: SchemaPlace) -> SchemaPart | None:
        """Return a schema as a model sees it; None if nothing fits it."""
        plain = self._plain(schema, place)
        if plain is None:
            return None
        node, place = plain
        self._parts += 1
        if values := values_of(node):
            return _choice(node, values)
        if place.depth > DEEPEST or self._parts > MOST_PARTS or CUT in place.refs:
            has_form = kinds_of(node) in (["object"], ["array"]) and not choices(node)
            return self._written(node) if has_form else self._anything(node)
        if branches := choices(node):
            return self._union(node, branches, place)
        match kinds_of(node):
            case []:
                return self._anything(node)
            case ["object"]:
                return self._object(node, place)
            case ["array"]:
                return self._array(node, place)
            case ["null"]:
                return _choice(node, [None])
            case [kind]:
                return SchemaPart(self._scalar(node, kind, place))
            case kinds:
                rules = [{key: node[key] for key in KEYWORDS.get(kind, ()) if key in node} for kind in kinds]
                about = {key: value for key, value in node.items() if key in ("description", "default")}
                return self._union(
                    about, [{"type": kind, **own} for kind, own in zip(kinds, rules, strict=True)], place
                )

    def _brief(self, schema: object) -> str:
        brief = Brief(self._root, GIVEN_IDENTIFIER)(schema)
        return brief if len(brief) <= LONGEST_BRIEF else f"{brief[: LONGEST_BRIEF - 1]}…"

    def _written(self, node: Schema) -> SchemaPart:
        """Return a text in which the model writes the value as JSON."""
        values = node.get("additionalProperties")
        is_map = isinstance(values, Mapping) and not node.get("properties") and "propertyNames" not in node
        brief = f"{{…: {self._brief(values)}}}" if is_map else self._brief(node)
        return SchemaPart({"type": "string", **described(node, f"JSON text: {brief}")}, json_of)

    def _anything(self, node: Schema) -> SchemaPart:
        """Return a choice of values of any type; the model writes an object or a list as JSON text."""
        brief = self._brief(node)
        words = "" if brief == "any" else f"{brief};"
        text = {"type": "string", **described({}, words, "JSON text for an object or a list")}
        # A client that knows no choices takes the last branch.
        return SchemaPart({**described(node), "anyOf": [{"type": "number"}, {"type": "boolean"}, text]}, json_of)

    def _scalar(self, node: Schema, kind: str, place: SchemaPlace) -> Json:
        schema, words = self._kept(node, kind, place), list[str]()
        if kind == "string" and schema.get("format", "date") not in json_schema.FORMATS:
            words.append(f"format: {schema.pop('format')}")
        if "pattern" in schema and not json_schema.SIMPLE_PATTERN.fullmatch(schema["pattern"]):
            words.append(f"pattern: {schema.pop('pattern')}")
        return {**schema, "type": kind, **(described(node, *words) if words else {})}

    def _kept(self, node: Schema, kind: str, place: SchemaPlace) -> Json:
        """Return the keywords of a schema that apply to its type, as far as their values are sound."""
        self.untold += [f"{place.name or ALL}: {key}" for key in json_schema.UNTOLD if key in node]
        own = {key: value for key, value in node.items() if key in (*ABOUT, *KEYWORDS.get(kind, ()))}
        return {key: value for key, value in own.items() if json_schema.is_sound(key, value) and key != "prefixItems"}

    def _object(self, node: Schema, place: SchemaPlace) -> SchemaPart:
        given, rest = _members(node), node.get("additionalProperties")
        required = [name for name in as_list(node.get("required")) if isinstance(name, str)]
        inner = {name: self._part(rule, place.inner(f".{name}")) for name, rule in given.items()}
        parts = {name: part for name, part in inner.items() if part}
        if not parts and place.depth:
            return self._written(node)
        if not parts and isinstance(rest, Mapping):
            written = self._written({key: value for key, value in node.items() if key != "description"})
            return SchemaPart(
                {"type": "object", "properties": {argument_forms.WRITTEN: written.schema}}, argument_forms.spread
            )
        if isinstance(rest, Mapping):
            self.untold.append(f"{place.name or ALL}: additionalProperties")
        keys = json_schema.safe_names(parts, "field")
        schema = {**self._kept(node, "object", place), "type": "object"}
        schema["properties"] = {keys[name]: _named(part, name, keys[name]) for name, part in parts.items()}
        schema["required"] = [keys[name] for name in required if name in keys]
        if "required" not in node:
            del schema["required"]
        if rest is not False:
            schema.pop("additionalProperties", None)
        ways = {name: (name, part.back) for name, part in parts.items()}
        ways |= {keys[name]: way for name, way in ways.items()}
        is_same = all(key == name and way is None for key, (name, way) in ways.items())
        return SchemaPart(schema, None if is_same else members_of(ways))

    def _array(self, node: Schema, place: SchemaPlace) -> SchemaPart:
        place, items = place.inner("[]"), node.get("items", {})
        first = as_list(node.get("prefixItems")) or as_list(items)
        further = node.get("additionalItems", {}) if isinstance(items, list) else items
        several = {"anyOf": [*first, *([further] if further else [])]} if first else items
        entry = self._entry(several, place) or SchemaPart({"type": "string"})
        schema = {**self._kept(node, "array", place), "type": "array", "items": entry.schema}
        if not first:
            return SchemaPart(schema, entry.back and entries_of((), entry.back))
        parts = [self._part(rule, place) or SchemaPart({"type": "string"}) for rule in first]
        ways = [chain(entry.back, scalar(part.schema) if part.is_number else part.back) for part in parts]
        schema |= described(node, self._brief({"type": "array", "prefixItems": first}))
        schema |= {"maxItems": len(first)} if further is False else {}
        return SchemaPart(schema, entries_of(ways, entry.back))

    def _entry(self, schema: object, place: SchemaPlace) -> SchemaPart | None:
        """Return the entry of a list. Some clients know no choice there, and take its last branch for all of it."""
        plain = self._plain(schema, place)
        branches = [self._plain(branch, plain[1]) for branch in choices(plain[0])] if plain else []
        kinds = {kind for branch in branches if branch for kind in kinds_of(branch[0]) or ["?"]}
        if plain and kinds == {"object"} and not all(_members(branch[0]) for branch in branches if branch):
            return self._written(plain[0])
        if plain and kinds == {"object"}:
            united, words = self._united(schema, place)
            return self._part({**united, "type": "object", **described(united, words)}, plain[1])
        if plain and len(kinds) > 1 and kinds & {"object", "array"}:
            return self._anything(plain[0])
        part = self._part(schema, place)
        if not part or not part.branches:
            return part
        ordered = sorted(part.branches, key=lambda branch: branch.is_text)
        return replace(part, schema={**part.schema, "anyOf": [branch.schema for branch in ordered]})

    def _union(self, node: Schema, branches: Sequence[object], place: SchemaPlace) -> SchemaPart | None:
        base = {key: value for key, value in node.items() if key in KEYWORDS["object"] or key in DEMANDS}
        base = {key: value for key, value in base.items() if key not in ("anyOf", "oneOf")}
        plain = [each for branch in branches for each in self._branches(branch, place)]
        if base and not any({"properties", *DEMANDS} & branch.keys() for branch, _ in plain):
            words = " | ".join(dict.fromkeys(json_schema.group(branch, {}) for branch, _ in plain))
            return self._part({**base, **described(node, words)}, place)
        rules = [(json_schema.both(branch, base), there) for branch, there in plain]
        has_null = any(kinds_of(rule) == ["null"] for rule, _ in rules)
        rules = _with_one_list([(rule, there) for rule, there in rules if kinds_of(rule) != ["null"]], place)
        made = [part for rule, there in rules if (part := self._part(rule, there))]
        parts = [inner for part in made for inner in part.branches or (part,)]
        has_null = has_null or any(part.schema.get("type") == "null" for part in parts)
        parts = [part for part in parts if part.schema.get("type") != "null"]
        texts = [part for part in parts if part.is_text]
        is_rewritten = any("enum" in part.schema and part.back for part in parts)
        if any("anyOf" in part.schema for part in parts) or (texts and is_rewritten):
            return self._anything(node)
        if len(texts) > 1:
            parts = [*(part for part in parts if not part.is_text), _one_text(texts)]
        if not parts:
            return _choice(node, [None]) if has_null else None
        return _one_of(node, parts, has_null=has_null)


def _members(node: Schema) -> Json:
    """Return the schemas of an object's properties; one that is required has some schema."""
    own = as_map(node.get("properties"))
    if node.get("additionalProperties") is False:
        return own
    return own | {name: {} for name in as_list(node.get("required")) if isinstance(name, str) and name not in own}


def _choice(node: Schema, values: Sequence[object]) -> SchemaPart:
    """Return a choice of texts; an empty one, or a value of another type, is written as JSON."""
    texts: dict[str, object] = {value: value for value in values if isinstance(value, str) and value}
    for value in values:
        if not isinstance(value, str) or not value:
            text = json.dumps(value, ensure_ascii=False)
            while text in texts and texts[text] is not value:
                text = f"({text})"
            texts[text] = value
    kept = {key: value for key, value in node.items() if key in ("description", "default", "title", "enum", "type")}
    schema = {**kept, "type": "string", "enum": [*texts]}
    if all(text == value for text, value in texts.items()):
        return SchemaPart({**schema, "enum": [*dict.fromkeys(values)]})
    return SchemaPart(
        {key: value for key, value in schema.items() if key != "default"},
        lambda value: texts.get(value, value) if isinstance(value, str) else value,
    )


def _with_one_list(rules: Sequence[tuple[Json, SchemaPlace]], place: SchemaPlace) -> list[tuple[Json, SchemaPlace]]:
    """Return the branches of a choice with one list of values in place of several."""
    listed = [rule for rule, _ in rules if values_of(rule)]
    if len(listed) < 2:
        return [*rules]
    about = [f"{values_of(rule)[0]}: {rule['description']}" for rule in listed if rule.get("description")]
    values = [value for rule in listed for value in values_of(rule)]
    others = [(rule, there) for rule, there in rules if not values_of(rule)]
    return [*others, ({"enum": values, **described({}, "; ".join(about))}, place)]


def _one_text(parts: Sequence[SchemaPart]) -> SchemaPart:
    """Return one text for several: any text fits."""
    words = [str(part.schema["description"]) for part in parts if part.schema.get("description")]
    return SchemaPart(
        {"type": "string", **described({}, " | ".join(words))}, next((part.back for part in parts if part.back), None)
    )


def _one_of(node: Schema, parts: Sequence[SchemaPart], *, has_null: bool) -> SchemaPart:
    """Return the choice of these parts; a client that knows no choice with null takes the last other branch."""
    is_same, last = all(part.back is None for part in parts), parts[-1]
    is_scalar = all(part.schema["type"] not in ("object", "array") for part in parts)
    shows_null = has_null and (len(parts) == 1 or (is_scalar and last.is_text))
    about = dict(described(node))
    if "default" in node and (shows_null if node["default"] is None else is_same):
        about["default"] = node["default"]
    if len(parts) == 1 and not has_null:
        return replace(
            last, schema={**about, **last.schema, **described(node, str(last.schema.get("description", "")))}
        )
    shown = [*parts, *([SchemaPart({"type": "null"})] if shows_null else [])]
    if has_null and not shows_null:
        about |= described(node, "| null")
    options: Json = {"anyOf": [part.schema for part in shown]}
    order = [key.replace("oneOf", "anyOf") for key in node if key in ("anyOf", "oneOf", *about)]
    schema = {key: {**about, **options}[key] for key in dict.fromkeys((*order, *about, "anyOf"))}
    return SchemaPart(schema, None if is_same else branch_of([(part.schema, part.back) for part in shown]), shown)


def _named(part: SchemaPart, name: str, key: str) -> Json:
    """Return a part as a model sees it under a key; if the name had to change, the description has it."""
    if name == key:
        return part.schema
    return {**part.schema, **described({}, f"{name}:", str(part.schema.get("description", "")))}
