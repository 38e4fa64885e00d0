"""What the tools of a speaker see of the conversation, and what is remembered of it."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall
from langgraph.store.base import BaseStore

from agents.conversation.scenes import uses
from agents.language.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.state import State, form_of, messages_of
from agents.state.talk import Json
from agents.toolkit.context import Context, ToolState
from agents.toolkit.source_book import SourceBook
from agents.toolkit.speaker import Speaker, Speakers


def tool_state(
    speaker: Speaker, speakers: Speakers, state: State, calls: Sequence[ToolCall] = (), cited: Sequence[str] = ()
) -> ToolState:
    """Return what the tools of these calls see; `cited` are the ids of the calls that give documents with numbers."""
    agreed, aliases = state.get("agreed"), Aliases(state.get("aliases"), state.get("labels"))
    return {
        "messages": [AIMessage("", tool_calls=[*calls])],
        "form": dict(form_of(state, speaker.name)),
        "lang": state["lang"],
        "heard": state["heard"],
        "aliases": aliases,
        "sources": SourceBook(state.get("sources"), state.get("turn", 0), cited),
        "talk": messages_of(state, speaker.name),
        "dialogs": uses(speakers, state["lang"]),
        "labels": aliases.labels,
        "speaker": speaker.name,
        "foreign": state.get("foreign", False),
        "agreed": agreed["call"] if agreed else "",
        "answers": agreed.get("answers", []) if agreed else [],
        "declined": state.get("declined", []),
    }


async def remember_form(speaker: Speaker, form: Json, context: Context, store: BaseStore | None) -> None:
    """Keep a form in long-term memory if the dialog wants it; where others read along, it has only what was said."""
    if not speaker.remember or store is None:
        return
    place = namespace_of(context.user, "forms")
    item = await store.aget(place, speaker.name) if context.is_shared else None
    await store.aput(place, speaker.name, {**(item.value if item else {}), **form})
