"""A speaker's history, with the message that it hears now."""

from langchain_core.messages import AnyMessage, HumanMessage

from agents.sources.attachments import SHOWN, words_of
from agents.state import State, talk_of
from agents.state.message_notes import notes
from agents.state.person import FORWARDED, Heard
from agents.state.talk import Talk
from agents.toolkit.speaker import Speaker


def is_foreign(heard: Heard) -> bool:
    """Tell whether a message brings words that somebody else wrote."""
    return heard["source"] == FORWARDED or any(quoted["foreign"] for quoted in heard.get("quoted", []))


def heard_so_far(speaker: Speaker, state: State) -> list[AnyMessage]:
    """Return a speaker's history, the message it hears now included."""
    talk = talk_of(state, speaker.name)
    message = heard_message(state["heard"], talk, state["lang"])
    return [*talk.get("messages", []), *([message] if message else [])]


def heard_message(heard: Heard, talk: Talk, lang: str) -> HumanMessage | None:
    """Return the user's message for a speaker's history; None if there is none or the history has it already."""
    has_heard = any(message.id == heard["id"] for message in reversed(talk.get("messages", [])))
    return None if has_heard or heard["text"] is None else human(heard, lang)


def human(heard: Heard, lang: str) -> HumanMessage:
    """Return the user's message as a history keeps it; `lang` is that of the marks of files."""
    noted = notes(metadata=heard["metadata"]) if "metadata" in heard else {}
    if any(part["kind"] in SHOWN for part in heard.get("quoted", [])):
        noted |= notes(marked=True)
    return HumanMessage(words_of(heard, lang), id=heard["id"], additional_kwargs=noted)
