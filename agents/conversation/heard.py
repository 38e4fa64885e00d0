"""A speaker's history, with the message that it hears now and the files beside it; histories keep only their marks."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage

from agents.sources.attachments import SHOWN, Contents, told, words_of
from agents.state import State, talk_of
from agents.state.message_notes import notes, notes_of
from agents.state.person import FORWARDED, Heard
from agents.state.talk import Talk
from agents.toolkit.speaker import Speaker
from prompts import phrase


def is_foreign(heard: Heard) -> bool:
    """Tell whether a message brings words that somebody else wrote."""
    return heard["source"] == FORWARDED or any(quoted["foreign"] for quoted in heard.get("quoted", []))


def heard_so_far(speaker: Speaker, state: State) -> list[AnyMessage]:
    """Return a speaker's history, the message it hears now included."""
    talk = talk_of(state, speaker.name)
    message = heard_message(state["heard"], talk, state["lang"])
    return [*talk.get("messages", []), *([message] if message else [])]


def heard_message(heard: Heard, talk: Talk, lang: str) -> HumanMessage | None:
    """Return the user's message for a speaker's history; None if the user said nothing or the history has it."""
    has_heard = any(message.id == heard["id"] for message in reversed(talk.get("messages", [])))
    return None if has_heard or heard["text"] is None else human(heard, lang)


def human(heard: Heard, lang: str) -> HumanMessage:
    """Return the user's message as a history keeps it; `lang` is that of the marks of files."""
    noted = notes(metadata=heard["metadata"]) if "metadata" in heard else {}
    if any(part["kind"] in SHOWN for part in heard.get("quoted", [])):
        noted |= notes(marked=True)
    return HumanMessage(words_of(heard, lang), id=heard["id"], additional_kwargs=noted)


def with_contents(history: Sequence[AnyMessage], heard: Heard, contents: Contents, lang: str) -> list[AnyMessage]:
    """Return a history in which the message of this turn shows its files."""
    parts = told(heard.get("quoted", []), contents, lang)
    if any(notes_of(message).get("marked") and message.id != heard["id"] for message in history):
        parts.append(phrase("attached_before", lang))
    if not parts and not contents.pictures:
        return [*history]
    return [_showing(message, parts, contents) if message.id == heard["id"] else message for message in history]


def _showing(message: AnyMessage, parts: Sequence[str], contents: Contents) -> AnyMessage:
    if not isinstance(message, HumanMessage):
        return message
    context = [*notes_of(message).get("context", []), *parts]
    shown = notes(context=context, pictures=contents.pictures)
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **shown}})
