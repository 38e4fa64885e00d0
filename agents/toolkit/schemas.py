"""Tools as a model is told of them: their JSON schemas, described in the language of the turn."""

from inspect import cleandoc

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.language.identifiers import shown
from agents.state.talk import Json
from agents.toolkit.card_texts import texts_of
from agents.toolkit.result import schema_of
from agents.toolkit.signature import notation
from agents.toolkit.traits import traits_of
from prompts import phrase

Schema = Json
"""A tool in the form that providers take: `{"type": "function", "function": {…}}`."""
IDLE_LOWER_BOUNDS = {"minLength": 1, "minItems": 1, "minimum": 1}
IDLE_UPPER_BOUNDS = {"maxLength": 200, "maxItems": 50}


class Schemas:
    """The schemas of tools, each made once per language."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], tuple[BaseTool, Schema]] = {}
        """With the tool itself, so that its id stays its own."""

    def of(self, tool: BaseTool, lang: str) -> Schema:
        """Return a tool's schema in `lang`; always the same object."""
        key = (id(tool), lang)
        if key not in self._made:
            self._made[key] = (tool, _schema(tool, lang))
        return self._made[key][1]


def _schema(tool: BaseTool, lang: str) -> Schema:
    schema = convert_to_openai_tool(tool)
    function = schema["function"]
    function["parameters"] = _described(shown(function.get("parameters", {}), is_argument=True))
    function["description"] = cleandoc(texts_of(tool, lang)[0])
    if result := schema_of(traits_of(tool).result):
        function["description"] += f"\n{phrase('tool_returns', lang, result=notation(result))}"
    return schema


def _described(parameters: Schema) -> Schema:
    """Return the parameters, each with a description and without what a model need not read.

    A parameter without a description has an empty one: one chat template fails without (Command R+).
    One that may be left out is no required one; that it may also be null says nothing more.
    """
    properties = {
        name: {
            "description": "",
            **_bare(_without_null(schema)),
        }
        for name, schema in parameters.get("properties", {}).items()
    }
    return {**parameters, "properties": properties}


def _without_null(schema: Schema) -> Schema:
    """Return a parameter's schema without the null that it defaults to."""
    kinds = schema.get("anyOf", [])
    if "default" not in schema or schema["default"] is not None or len(kinds) != 2 or {"type": "null"} not in kinds:
        return schema
    kind = next(each for each in kinds if each != {"type": "null"})
    return {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **kind}


def _bare(schema: Schema) -> Schema:
    """Return a parameter's schema without bounds that a model hardly meets; one that does is told of them."""
    unmet = [name for name, bound in IDLE_LOWER_BOUNDS.items() if schema.get(name) == bound]
    unmet += [name for name, bound in IDLE_UPPER_BOUNDS.items() if schema.get(name, 0) >= bound]
    bounded = {key: value for key, value in schema.items() if key not in unmet}
    return {**bounded, "items": _bare(bounded["items"])} if isinstance(bounded.get("items"), dict) else bounded
