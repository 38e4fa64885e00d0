"""The graph of a conversation that is played without `Assistant`, built once for its settings."""

from collections.abc import Mapping

from agents.conversation.scene import Observer
from agents.graph import Graph, build_graph
from agents.toolkit.speaker import Speakers
from app.composition import discover_checked
from app.extensions import Extensions
from app.settings import Settings, read

_kept: list[tuple[Settings, Extensions, Graph]] = []
"""The last graph that was built, with its settings."""


def conversation_of(settings: Settings) -> Graph:
    """Return the graph without remote tools; it is built again only for other settings.

    Raises:
        ConfigError: a setting is wrong.
        ContractError, PromptError: a dialog, observer, tool or prompt breaks a rule.
    """
    extensions = read(Extensions)
    if not (_kept and _kept[0][:2] == (settings, extensions)):
        _kept[:] = [(settings, extensions, build_conversation(settings, *discover_checked(settings)))]
    return _kept[0][2]


def build_conversation(settings: Settings, speakers: Speakers, watching: Mapping[str, Observer]) -> Graph:
    """Return a graph that begins each turn with the given state; its steps last as long as the run."""
    return build_graph(speakers, watching, saver=None, store=None, direct_switch=settings.direct_switch)
