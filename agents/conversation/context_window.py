"""The room in a model's window: the dialogs, tools and messages of a history that fit into it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from agents.conversation.prompt import Prompting
from agents.models import Models, ToolSchema
from agents.models.message_order import in_order
from agents.models.window import Window
from agents.state import SUPERVISOR
from agents.state.history import beyond, texts
from agents.toolkit.result import LONGEST_OBJECT, written
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tool_searches

PromptOf = Callable[[list[AnyMessage]], list[AnyMessage]]
"""Makes the prompt of a history."""
CRAMPED, FULL = 1 / 2, 3 / 4
"""Shares of a window: beyond the first a speaker keeps most tools unbound, beyond the second its role and tools
leave no room for a conversation."""
DEAREST = 16_000
"""The most tokens of a history: a longer one is cut for its cost alone."""
EACH = 8
"""Tokens that a template puts around a message."""
SHORTEST = 250
"""The least characters that stay of a tool's result."""


@dataclass(frozen=True)
class Misfit:
    """A speaker whose role and tools do not fit into the window of its model, in tokens."""

    name: str
    tokens: int
    """The tokens that they take, with room for a conversation."""
    window: int


def fitted(speakers: Speakers, models: Models, lang: str) -> tuple[Speakers, list[Misfit]]:
    """Return the speakers as they fit into their models' windows, as far as these are known, and the misfits."""
    cramped = {it.name for it in _above(CRAMPED, speakers, models, lang)}
    if not cramped:
        return speakers, []
    speakers = speakers.each(lambda speaker: replace(speaker, is_cramped=speaker.name in cramped))
    misfits = [it for it in _above(FULL, speakers, models, lang) if it.name != SUPERVISOR]
    absent = {it.name: speakers[it.name] for it in misfits}
    present = {name: dialog for name, dialog in speakers.dialogs.items() if name not in absent}
    speakers = replace(speakers, dialogs=present, absent=absent)
    # Without these dialogs the supervisor's own prompt is shorter.
    return speakers, [*misfits, *_above(FULL, speakers, models, lang)]


def _above(share: float, speakers: Speakers, models: Models, lang: str) -> list[Misfit]:
    prompting, above = Prompting(speakers, tool_searches(speakers)), list[Misfit]()
    for speaker in speakers:
        window = models.chain(speaker.name)[0].window
        if window.size is None or speaker.agent is not None:
            continue
        tokens = window.tokens([prompting.role(speaker, lang), *texts([], prompting.tools(speaker, lang))])
        if tokens > share * window.size:
            above.append(Misfit(speaker.name, round(tokens / FULL), window.size))
    return above


def surplus(history: Sequence[AnyMessage], window: Window) -> int:
    """Return how many messages to cut from the beginning of a history between two turns."""
    half = (window.size or 2 * DEAREST) // 2
    most = window.bound or min(half, DEAREST)
    return beyond(history, most, lambda messages: window.tokens(messages) + EACH * len(messages))


def shortened(
    history: list[AnyMessage], window: Window, prompt: PromptOf, tools: Sequence[ToolSchema]
) -> list[AnyMessage]:
    """Return as much of a history as the window of its model has room for.

    A history that has grown too long is cut to half of the room beside the role and the tools, so that it is cut
    seldom. If the last messages are too long by themselves, results of tools are cut, and say so.
    """

    def taken(part: list[AnyMessage]) -> int:
        messages = in_order(prompt(part))
        return window.tokens(texts(messages, tools)) + EACH * len(messages)

    if window.prompt is None or taken(history) <= window.prompt:
        return history
    half = (window.prompt + taken([])) // 2
    starts = [place for place, message in enumerate(history) if isinstance(message, HumanMessage)] or [0]
    shorter = next((history[start:] for start in starts if taken(history[start:]) <= half), history[starts[-1] :])
    longest = LONGEST_OBJECT
    while taken(shorter) > window.prompt and longest > SHORTEST:
        longest //= 2
        shorter = [_cut(message, longest) for message in shorter]
    return shorter


def _cut(message: AnyMessage, longest: int) -> AnyMessage:
    is_long = isinstance(message, ToolMessage) and len(message.text) > longest
    return message.model_copy(update={"content": written(message.text, longest)}) if is_long else message
