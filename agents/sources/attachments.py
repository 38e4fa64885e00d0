"""Files and places beside a user's message: their marks in a history, and their contents for the model of the turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages.content import ImageContentBlock

from agents.state.person import Quoted, UserMessage
from prompts import phrase

SHOWN = ("photo", "file")  # The kinds of files whose contents a model sees.
MARKED = (*SHOWN, "location", "contact")  # The kinds that leave a mark in the history, such as "[photo]".


@dataclass(frozen=True)
class Contents:
    """The contents of a message's files. They are read anew for the message's turn and never stored."""

    pictures: Sequence[ImageContentBlock] = field(default=(), repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)


def marks(quoted: Sequence[Quoted], lang: str) -> str:
    """Return the marks of the files and places beside a message for a history: "[photo]"; empty without any."""
    marked = [part for part in quoted if part["kind"] in MARKED]
    return " ".join(phrase(f"mark_{part['kind']}", lang) for part in marked)


def words_of(heard: UserMessage, lang: str) -> str:
    """Return a message as a history keeps it: the user's words, below the marks of files and places."""
    text, beside = heard["text"] or "", marks(heard.get("quoted", []), lang)
    return "\n".join(dict.fromkeys(filter(None, (beside, text))))


def has_words(heard: UserMessage, lang: str) -> bool:
    """Tell whether the user said something besides sending files."""
    return (heard["text"] or "") != marks(heard.get("quoted", []), lang)


def told(quoted: Sequence[Quoted], contents: Contents, lang: str) -> list[str]:
    """Return sentences for a model on the files beside a message: their texts, and the files that it cannot see."""
    parts = []
    for part in quoted:
        if part["kind"] == "file" and (text := contents.texts.get(part.get("file", ""))):
            parts.append(phrase("attached_file", lang, by=part["by"], text=text))
        elif part["kind"] == "file" or (part["kind"] == "photo" and not contents.pictures):
            parts.append(phrase("attached_unseen", lang, by=part["by"] or part["kind"]))
    return parts
