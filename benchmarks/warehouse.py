"""A speaker with too many tools to bind, each with a card: verbs on things, in English and Russian."""

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.tools import BaseTool, StructuredTool

from agents.toolkit.speaker import Speakers

VERBS = ("count", "move", "paint", "weigh", "sell", "repair")
THINGS = (
    "apples", "bicycles", "cameras", "drums", "engines", "flutes", "guitars", "hammers", "irons", "jackets",
    "kettles", "lamps", "mirrors", "needles", "ovens", "pianos", "quilts", "radios", "sofas", "tables",
    "umbrellas", "violins", "wheels", "xylophones", "yarns", "zithers", "anchors", "barrels", "candles", "doors",
    "eggs", "fans", "gloves", "hats", "inks", "jars", "keys", "ladders", "mugs", "nails",
    "oars", "pots", "racks", "saws", "tents", "urns", "vases", "wires", "yokes", "zippers",
)  # fmt: skip


def tools() -> list[BaseTool]:
    """Return three hundred tools."""
    return [_tool(verb, thing) for thing in THINGS for verb in VERBS]


def with_warehouse(speakers: Speakers, own: Sequence[BaseTool] = ()) -> Speakers:
    """Return the speakers; the supervisor has three hundred tools more."""
    supervisor = replace(speakers.supervisor, tools=[*speakers.supervisor.tools, *own, *tools()])
    return Speakers(supervisor, speakers.dialogs)


def _tool(verb: str, thing: str) -> BaseTool:
    async def work(amount: int, place: str = "here") -> str:
        return f"{verb} {amount} {thing}: done, {place}"

    about = f"{verb.capitalize()} {thing} of the warehouse. amount: how many. place: where, if not here."
    return StructuredTool.from_function(coroutine=work, name=f"{verb}_{thing}", description=about)
