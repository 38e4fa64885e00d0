"""Tool cards: all there is to review of a tool, from its code (signature, traits) and its texts (`prompts/`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.tools import BaseTool

from agents.language.identifiers import Schema, shown
from agents.state.talk import Json
from agents.toolkit.arguments import parameters
from agents.toolkit.bound_tools import tools_of
from agents.toolkit.card_texts import own_texts, texts_of
from agents.toolkit.handover_tools import hand_back
from agents.toolkit.result import schema_of
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import Traits, traits_of

PLAIN_TRAITS = ("repeatable", "transaction", "permission", "view", "volatile", "shortcut", "always", "irreversible")
"""Traits that stand on a card as they are."""
HAND_OVER = "hand-over"
"""The kind of a tool that is not run: it passes the conversation on."""


@dataclass(frozen=True, kw_only=True)
class ToolCard:
    """A tool as a person reviews it."""

    name: str
    owners: Sequence[str]
    """The speakers that have it."""
    source: str
    """Where a remote tool is described; empty for a function here."""
    kind: str
    """The kind of its traits, or `HAND_OVER`."""
    traits: Traits
    descriptions: Mapping[str, str]
    """By language: what a model is told."""
    examples: Mapping[str, Sequence[str]]
    """By language: what people say who want it."""
    parameters: Schema
    """A JSON schema as the model sees it; trusted values are not in it."""
    result: Schema
    """The JSON schema of what comes back; empty for a sentence."""

    def plain(self) -> Json:
        """Return the card as a JSON object; `again_after_s` is in seconds, and 0 without a key."""
        traits = self.traits
        return {
            "name": self.name,
            "owners": self.owners,
            "source": self.source,
            "kind": self.kind,
            "effect": traits.effect,
            "key": [*traits.key],
            "again_after_s": round(traits.again_after.total_seconds()) if traits.key else 0,
            **{name: getattr(traits, name) for name in PLAIN_TRAITS},
            "descriptions": self.descriptions,
            "examples": self.examples,
            "parameters": self.parameters,
            "result": self.result,
        }


def cards(speakers: Speakers, languages: Sequence[str]) -> list[ToolCard]:
    """Return the card of every tool; one that several speakers have is one card with the parameters of all."""
    passing = {hand_back.name, *(dialog.tool for dialog in speakers.dialogs.values())}
    return [_card(owned, languages, passing=name in passing) for name, owned in owned_tools(speakers).items()]


def owned_tools(speakers: Speakers) -> dict[str, list[tuple[Speaker, BaseTool]]]:
    """Return all tools by name, each with the speakers that have a tool of this name."""
    owned: dict[str, list[tuple[Speaker, BaseTool]]] = {}
    for speaker in speakers:
        for tool in tools_of(speaker, speakers):
            owned.setdefault(tool.name, []).append((speaker, tool))
    return owned


def slots(tools: Sequence[BaseTool]) -> list[str]:
    """Return what an example may have in braces: the parameters of the tools that share a card."""
    return list(dict.fromkeys(name for tool in tools for name in parameters(tool).get("properties", {})))


def _card(owned: Sequence[tuple[Speaker, BaseTool]], languages: Sequence[str], *, passing: bool) -> ToolCard:
    tool = owned[0][1]
    traits, texts = traits_of(tool), {lang: texts_of(tool, lang) for lang in languages}
    return ToolCard(
        name=tool.name,
        owners=[owner.name for owner, _ in owned],
        source=own_texts(tool).source,
        kind=HAND_OVER if passing else traits.kind,
        traits=traits,
        descriptions={lang: description or tool.description for lang, (description, _) in texts.items()},
        examples={lang: [*examples] for lang, (_, examples) in texts.items() if examples},
        parameters=_together([shown(parameters(tool), is_argument=True) for _, tool in owned]),
        result=shown(schema_of(traits.result)),
    )


def _together(schemas: Sequence[Schema]) -> Schema:
    """Return a schema with the properties of all; what one of them does without is not required."""
    merged = {name: value for name, value in schemas[0].items() if name not in ("title", "description")}
    properties = {name: value for schema in schemas for name, value in schema.get("properties", {}).items()}
    definitions = {name: value for schema in schemas for name, value in schema.get("$defs", {}).items()}
    required = [
        name for name in merged.get("required", ()) if all(name in schema.get("required", ()) for schema in schemas)
    ]
    return {
        **merged,
        "properties": properties,
        **({"required": required} if required else {}),
        **({"$defs": definitions} if definitions else {}),
    }
