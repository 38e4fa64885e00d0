"""What the gate and the observers are shown of the moment a user message arrives."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.store.base import BaseStore

from agents.memory.store import namespace_of
from agents.speaker import Speaker, Speakers
from agents.state import State
from agents.toolkit.card_texts import texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.shelf import at_hand
from prompts import card

Ask = Callable[..., Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One moment of a dialog: what the user said, what was said before, and who else could take over."""

    lang: str
    dialog: str
    description: str
    """What the dialog is used for."""
    text: str
    """What the user just said."""
    reply: str | None
    """What the dialog said last: before the user's message (pre-check) or in answer to it (post-check)."""
    helpers: Mapping[str, str]
    """The other dialogs, by name, with what they are used for."""
    tools: Mapping[str, str]
    """The supervisor's tools, by name, with what they do."""
    form: Mapping[str, Any]
    missing: Sequence[str]
    user: str = ""
    store: BaseStore | None = None
    ask: Ask = field(default=lambda **_: _nobody(), repr=False)
    """Ask the observer's model: its prompt with these variables; returns the reply's text."""

    async def remember(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Store a fact about the user in long-term memory."""
        if self.store is not None:
            await self.store.aput(namespace_of(self.user, kind), key, value)


def scene(speakers: Speakers, dialog: Speaker, state: State) -> Scene:
    """Show the present moment of `dialog`."""
    talk = state.get("talks", {}).get(dialog.name, {})
    form = talk.get("form") or {}
    replies = (m.text for m in reversed(talk.get("messages", [])) if isinstance(m, AIMessage) and m.text)
    return Scene(
        lang=state["lang"],
        dialog=dialog.name,
        description=described(dialog, state["lang"]),
        text=state["heard"]["text"] or "",
        reply=next(replies, None),
        helpers={n: described(other, state["lang"]) for n, other in speakers.dialogs.items() if n != dialog.name},
        tools={tool.name: texts_of(tool, state["lang"])[0] for tool in at_hand(speakers.supervisor)},
        form=form,
        missing=missing(dialog.form, form) if dialog.form else [],
    )


def described(dialog: Speaker, lang: str) -> str:
    """Return what a dialog is used for, in words of `lang` if its tool's card has them."""
    return card(dialog.tool, lang)[0] or dialog.description


async def _nobody() -> str:
    return ""
