"""Descriptions and examples of tools from outside, by language, as card files have them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import cleandoc, getsourcefile, getsourcelines, unwrap
from typing import cast

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, PydanticUserError

from agents.discovery import place_of
from agents.errors import ContractError
from agents.language.identifiers import shown
from agents.models import ToolSchema
from agents.state.speaker_state import Json
from agents.toolkit.notation import GIVEN_IDENTIFIER, Brief, notation
from agents.toolkit.result import in_json, schema_of
from agents.toolkit.schema import Translation
from agents.toolkit.traits import traits_of
from prompts import FALLBACK, card, edition, phrase

_TEXTS, _TRANSLATION = "texts", "translation"
PARAMETERS = "parameters"
"""In a tool's metadata: the key of the sentence in `texts.toml` that describes its parameters, as a card does."""
ORIGINAL = "original"
"""In a tool's metadata: the tool that it replaces, as a mock does."""
LONGEST_DESCRIPTION = 1024
"""Characters of a tool's description; a provider takes no more."""
IDLE_LOWER_BOUNDS = {"minLength": 1, "minItems": 1, "minimum": 1}
IDLE_UPPER_BOUNDS = {"maxLength": 200, "maxItems": 50}


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The texts of a tool's source on the tool, by language."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Its titles, for the question to the user before it runs."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of its parameters, for the same question; by name, and then by language."""
    source: str = ""
    fingerprint: str = ""
    """A digest of a server's description; empty if the description is in the file."""


def with_texts(tool: BaseTool, texts: Texts) -> BaseTool:
    """Put texts on a tool and return it."""
    tool.metadata = {**(tool.metadata or {}), _TEXTS: texts}
    return tool


def texts_of(tool: BaseTool, lang: str) -> tuple[str, tuple[str, ...]]:
    """Return a tool's description and examples in a language; a file in `prompts/` goes before the tool's own texts,
    a text in the language before one in English."""
    own, examples = own_texts(tool).descriptions, card(tool.name, lang)[1] or examples_of(tool, lang)
    description = card(tool.name, lang)[0] or own.get(lang) or card(tool.name, FALLBACK)[0] or own.get(FALLBACK)
    return description or tool.description, examples


def from_source(tool: BaseTool, source: str, fingerprint: str) -> BaseTool:
    """Note the source of a tool's description (the place in a file) and its server's fingerprint; return the tool."""
    return with_texts(tool, replace(own_texts(tool), source=source, fingerprint=fingerprint))


def server_of(tool: BaseTool) -> str:
    """Return the place of the server that describes a tool; empty if a file here describes it."""
    texts = own_texts(tool)
    return texts.source.rpartition(".tools.")[0] if texts.fingerprint else ""


def told_by_servers(tools: Iterable[BaseTool]) -> Mapping[str, str]:
    """Return servers' own words on their tools that models read, by server; our own servers are left out."""
    words: dict[str, str] = {}
    for tool in tools:
        server, own = server_of(tool), traits_of(tool)
        if server and own.foreign:
            about = "" if FALLBACK in own_texts(tool).descriptions else tool.description
            words[server] = "\n".join(
                [words.get(server, ""), about, in_json(translation_of(tool).schema), in_json(schema_of(own.result))]
            )
    return words


def examples_of(tool: BaseTool, lang: str) -> tuple[str, ...]:
    """Return the examples that came with a tool in a language."""
    return tuple(own_texts(tool).examples.get(lang, ()))


def own_texts(tool: BaseTool) -> Texts:
    """Return the texts that came with a tool; a function here has empty ones."""
    texts: Texts = (tool.metadata or {}).get(_TEXTS, Texts())
    return texts


def tool_place(tool: BaseTool) -> str:
    """Return a tool's name with its place: the entry that describes it, or the file and the line of its code."""
    if source := own_texts(tool).source:
        return source
    code = unwrap(getattr(tool, "coroutine", None) or getattr(tool, "func", None) or type(tool))
    place = ""
    # Some code has no file: a function of C, or one that was made of others.
    with suppress(OSError, TypeError):
        place = f"{place_of(code.__module__, getsourcefile(code) or '')}, line {getsourcelines(code)[1]}: "
    return f"{place}tool {tool.name}"


class Schemas:
    """The schemas of tools, each made once per language; nobody reads the results of those `without_result`."""

    def __init__(self, without_result: Collection[str] = ()) -> None:
        self._without_result = without_result
        self._made: dict[tuple[object, int, str], tuple[BaseTool, ToolSchema]] = {}
        """By edition of the texts, tool's id and language; an entry holds the tool, so that its id stays its own."""

    def of(self, tool: BaseTool, lang: str) -> ToolSchema:
        """Return a tool's schema in `lang`; the same object until texts are read anew."""
        key = (edition(), id(tool), lang)
        if key not in self._made:
            note = "" if tool.name in self._without_result else f" {seen_by(tool, lang)}"
            self._made[key] = (tool, _schema(tool, lang, note))
        return self._made[key][1]


def _schema(tool: BaseTool, lang: str, note: str) -> ToolSchema:
    translation, shared = translation_of(tool), (tool.metadata or {}).get(PARAMETERS)
    card_text = "\n".join([cleandoc(texts_of(tool, lang)[0]), *([phrase(shared, lang)] if shared else [])])
    about, descriptions = _divided(card_text, translation.schema.get("properties", {}))
    lines = [about, translation.words]
    if result := schema_of(traits_of(tool).result):
        lines.append(phrase("tool_returns", lang, result=notation(result)))
    text, longest = "\n".join(filter(None, lines)), LONGEST_DESCRIPTION - len(note)
    text = (text if len(text) <= longest else f"{text[: longest - 1]}…") + note
    schema = convert_to_openai_tool({**translation.schema, "title": tool.name, "description": text})
    schema["function"]["parameters"] = _described(schema["function"]["parameters"], descriptions)
    return schema


def translation_of(tool: BaseTool) -> Translation:
    """Return the translation of a tool's parameters for models, and back; it is made once.

    Raises ContractError: a parameter has a type that JSON cannot write.
    """
    kept: Translation | None = (tool.metadata or {}).get(_TRANSLATION)
    if kept is None:
        own = tool.tool_call_schema
        try:
            schema = own if isinstance(own, dict) else convert_to_openai_tool(tool)["function"].get("parameters", {})
        except PydanticUserError as wrong:
            raise ContractError(f"{tool_place(tool)}: {str(wrong).splitlines()[0]}") from wrong
        kept = Translation(shown(schema, is_argument=True))
        tool.metadata = {**(tool.metadata or {}), _TRANSLATION: kept}
    return kept


def seen_by(tool: BaseTool, lang: str) -> str:
    """Return the words of a card on the reader of the tool's result."""
    own = traits_of(tool)
    return phrase(f"seen_{'as_answer' if own.answers else 'shown' if own.view else 'nobody'}", lang)


def _divided(text: str, names: Collection[str]) -> tuple[str, Mapping[str, str]]:
    """Divide a card's text: the tool's description, and by name the lines on parameters ("query: what to find")."""
    lines = {line: line.replace("：", ":", 1).partition(":") for line in text.splitlines()}
    descriptions = {name: about.strip() for name, _, about in lines.values() if name in names}
    return "\n".join(line for line, (name, *_) in lines.items() if name not in descriptions).strip(), descriptions


def _described(parameters: ToolSchema, descriptions: Mapping[str, str]) -> ToolSchema:
    """Return the parameters, each with a description and without keywords that a model need not read.

    A parameter without a description has an empty one: one chat template fails without (Command R+).
    An optional parameter is not required; a null among its types would add nothing.
    """
    given = parameters.get("properties", {})
    return {
        **parameters,
        "properties": {name: {"description": descriptions.get(name, ""), **_bare(given[name])} for name in given},
    }


def _bare(schema: ToolSchema) -> ToolSchema:
    """Return a parameter's schema without null, and without bounds that a model hardly ever reaches."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1 and schema.get("default", "") is None:
        schema = {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **kinds[0]}
    unmet = [name for name, bound in IDLE_LOWER_BOUNDS.items() if schema.get(name) == bound]
    unmet += [name for name, bound in IDLE_UPPER_BOUNDS.items() if schema.get(name, 0) >= bound]
    bounded = {key: value for key, value in schema.items() if key not in unmet}
    return {**bounded, "items": _bare(bounded["items"])} if isinstance(bounded.get("items"), dict) else bounded


def signature(tool: BaseTool) -> str:
    """Return a tool's name, parameters and result; a `?` marks an optional parameter."""
    schema = parameters(tool)
    original = translation_of(tool).original
    arguments, required = original.get("properties", {}), original.get("required", ())
    brief = Brief(schema, GIVEN_IDENTIFIER)
    named = ", ".join(f"{name}{'' if name in required else '?'}: {brief(inner)}" for name, inner in arguments.items())
    back = schema_of(traits_of(tool).result)
    return f"{tool.name}({named}){f' -> {notation(back)}' if back else ''}"


def parameters(tool: BaseTool) -> Json:
    """Return the JSON schema of a tool's arguments from the model; trusted parameters are not in it."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else cast(type[BaseModel], schema).model_json_schema()
