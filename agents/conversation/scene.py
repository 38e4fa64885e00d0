"""The scene: a dialog as the gate and the observers see it when a user message arrives."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.store.base import BaseStore

from agents.errors import ContractError
from agents.foreign import contained
from agents.language.text.clean import whole
from agents.memory.store import namespace_of
from agents.state import State, form_of, messages_of
from agents.state.citations import uncited
from agents.state.message_notes import notes_of
from agents.state.verdict import Verdict
from agents.toolkit.descriptions import texts_of
from agents.toolkit.questions.form import missing
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import at_hand
from prompts import card

LOG = logging.getLogger(__name__)

MOST_BEFORE = 3
"""The most messages before the last reply in a scene."""
_SLOT = re.compile(r"\{\w+\}")


async def _nothing(*_: object, **__: object) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One moment of a dialog: the user's `text`, the messages before, and the dialogs that could take over."""

    lang: str
    """The language of the turn, such as "en"."""
    dialog: str
    description: str
    text: str
    reply: str | None
    """The dialog's last words: before the user's message (pre-check) or in answer to it (post-check)."""
    helpers: Mapping[str, str]
    """The descriptions of the other dialogs, by name."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """The names of dialogs in prompts, by their own name: the tools by which the supervisor hands over to them."""
    tools: Mapping[str, str]
    """The descriptions of the supervisor's tools, by name."""
    form: Mapping[str, object]
    missing: Sequence[str]
    """The form's fields that have no value yet."""
    before: Sequence[str] = ()
    """The messages of the dialog before that reply, oldest first."""
    paused: Sequence[str] = ()
    """The dialogs that were interrupted, by name, the latest last."""
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """People's example requests for a dialog or a tool, by its name."""
    user: str = ""
    store: BaseStore | None = None
    ask: Callable[..., Awaitable[str]] = field(default=_nothing, repr=False)
    """Ask the observer's model: its prompt with these variables; returns the reply's text. With `words` the one of them
    with which the reply begins ("stay", "stay + TOOL"), else nothing."""

    enter: Callable[[str, str, dict[str, object]], Awaitable[object]] = field(default=_nothing, repr=False)
    """Enters in the undo log that a fact is about to change: its kind, its key and its new value."""

    async def remember(self, kind: str, key: str, value: dict[str, object]) -> None:
        """Store a fact about the user in long-term memory."""
        if self.store is not None:
            fact = whole(value)
            await self.enter(kind, key, fact)
            await self.store.aput(namespace_of(self.user, kind), key, fact)


Check = Callable[[Scene], Awaitable[Verdict]]


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Checks before a dialog answers (`pre_check`) and after (`post_check`); either may be left out.

    A pre-check runs beside the dialog's own draft and holds it back until it has voted; a post-check runs
    while the user already reads the answer.
    """

    pre_check: Check | None = None
    post_check: Check | None = None
    when: Callable[[Scene], bool] | None = None
    """A cheap local test. The observer is asked if it is true, whatever the gate says, and never else. Without it
    the observer is asked before an answer if the gate lets the message through, and after every answer."""
    always: Literal["dialogs", "everywhere"] | None = None
    """Whether it watches every dialog, or the supervisor too, without being named in one."""
    spared: bool = False
    """Whether the gate, and an answer that fits the question, may spare an observer that is always on."""

    def __post_init__(self) -> None:
        if self.pre_check is None and self.post_check is None:
            raise ContractError("an Observer needs a pre_check or a post_check")
        if when := self.when:
            object.__setattr__(self, "when", wraps(when)(lambda scene: _holds(when, scene)))


def _holds(when: Callable[[Scene], bool], scene: Scene) -> bool:
    """Return the outcome of a test; an observer whose test fails has nothing to say."""
    try:
        with contained():
            return bool(when(scene))
    except Exception as failure:
        LOG.warning("%s: the test of an observer failed: %s", when.__module__, type(failure).__name__)
        return False


def scene_of(dialog: Speaker, state: State, speakers: Speakers, *, is_whole: bool = False) -> Scene:
    """Return the present moment of a dialog; with `is_whole` its words include the questions of tools.

    The gate sees none of these questions: it would take any message for an answer to one.
    """
    lang, form = state["lang"], form_of(state, dialog.name)
    tools = {tool.name: texts_of(tool, lang) for tool in at_hand(speakers.supervisor)}
    others = {name: other for name, other in speakers.dialogs.items() if name != dialog.name}
    reply, before = _last_said(messages_of(state, dialog.name), is_whole=is_whole)
    return Scene(
        lang=lang,
        dialog=dialog.name,
        description=described(dialog, lang),
        text=state["heard"]["text"] or "",
        reply=reply,
        helpers={name: described(other, lang) for name, other in others.items()},
        entries={name: other.tool or name for name, other in speakers.dialogs.items()},
        tools={name: description for name, (description, _) in tools.items()},
        form=form,
        missing=missing(dialog.form, form) if dialog.form else [],
        before=before,
        paused=[name for name in state.get("paused", []) if name != dialog.name],
        examples={speaker.name: _examples(speaker, lang) for speaker in speakers.dialogs.values()}
        | {name: phrases for name, (_, phrases) in tools.items()},
    )


def _last_said(history: Sequence[AnyMessage], *, is_whole: bool) -> tuple[str | None, list[str]]:
    """Return the last reply of a history, and the messages before it; without a reply the last messages."""
    reply, before = None, list[str]()
    for message in reversed(history):
        # A notice in between does not count as a reply: the user still answers the question before it.
        is_said = "told" not in notes_of(message) and (is_whole or not isinstance(message, ToolMessage))
        if not is_said or not (words := _words(message)):
            continue
        if reply is None and not isinstance(message, HumanMessage):
            reply, before = words, []
        elif len(before) < MOST_BEFORE:
            before.insert(0, words)
        elif reply is not None:
            break
    return reply, before


def _words(message: AnyMessage) -> str:
    """Return the text of a message as the user saw or said it: for a tool's result, its question to the user."""
    if isinstance(message, HumanMessage | AIMessage):
        return uncited(message.text)
    return notes_of(message).get("asked", "")


def _examples(dialog: Speaker, lang: str) -> tuple[str, ...]:
    phrases = (*card(dialog.tool, lang)[1], *(phrase for tool in dialog.tools for phrase in texts_of(tool, lang)[1]))
    return _without_slots(phrases)


# Every turn asks for the same examples; there are hundreds of them.
@lru_cache(maxsize=200)
def _without_slots(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_SLOT.sub(" ", phrase) for phrase in phrases)


def described(dialog: Speaker, lang: str) -> str:
    """Return the description of a dialog, in `lang` if the card of its tool is translated."""
    return card(dialog.tool, lang)[0] or dialog.description
