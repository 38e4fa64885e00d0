"""Warn of missing texts of tools and dialogs in `check`. The application starts and uses other texts instead.

A tool without a description in a language is described in English, else by its docstring. A tool or dialog without
examples is found by a language model, but not by the model without a key (`local:rules`).
"""

from collections.abc import Iterator, Sequence

from agents.toolkit.card_texts import own_texts, texts_of
from agents.toolkit.lint import named
from agents.toolkit.speaker import Speakers
from prompts import FALLBACK, card_file, carded, translated


def warnings(speakers: Speakers, langs: Sequence[str]) -> list[str]:
    """Return a line for every text that is missing, with the file to write."""
    return [line for lang in langs for line in (*_dialogs(speakers, lang), *_tools(speakers, lang))]


def _dialogs(speakers: Speakers, lang: str) -> Iterator[str]:
    for name, dialog in speakers.dialogs.items():
        if lang not in translated(f"{name}/prompt"):
            yield f"prompts/{lang}/{name}/prompt.md is missing: the {FALLBACK} prompt is used"
        entry = card_file(dialog.tool, lang, name)
        if carded(lang) and not entry.exists():
            yield f"{named(entry)} is missing: dialog {name} has no examples of requests"


def _tools(speakers: Speakers, lang: str) -> Iterator[str]:
    if not carded(lang):
        yield f"prompts/{lang} has no cards: tools are described in {FALLBACK}, and have no examples of requests"
        return
    owned = {tool.name: (tool, speaker) for speaker in reversed([*speakers]) for tool in speaker.tools}
    for tool, speaker in reversed(owned.values()):
        if texts_of(tool, lang)[1]:
            continue
        dialog = "" if speaker.is_supervisor else speaker.name
        path, source = card_file(tool.name, lang, dialog), own_texts(tool).source
        if path.exists():
            yield f"{named(path)}: there is no example of a request"
        elif source:
            yield f"{source}.examples.{lang} is missing: write examples of requests, here or in {named(path)}"
        else:
            yield f"{named(path)} is missing: the tool has no examples of requests"
