"""Ask the user before a call that always asks, that writes or sends after foreign text was read, or that is a write of
which its model is not sure.

The question shows the arguments with which the tool will run. The call itself waits in the state
(`agents.nodes.ask`), and runs after a yes with these arguments, once. If its subject has changed meanwhile, so that the
question would be another one, the user is asked anew.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool

from agents.language.identifiers import Aliases, Swap
from agents.language.text.stems import stems
from agents.language.text.vocabulary import small_words
from agents.state.message_notes import notes_of
from agents.state.person import is_own
from agents.state.speaker_state import Json
from agents.toolkit.call import RunningCall
from agents.toolkit.context import ToolState
from agents.toolkit.descriptions import own_texts, parameters, server_of, translation_of
from agents.toolkit.handover_tools import FILL_FORM
from agents.toolkit.help import readable
from agents.toolkit.questions import ANSWERS
from agents.toolkit.questions.options import CONFIRM, yes_or_no
from agents.toolkit.result import Option, Question, Refused, in_json
from agents.toolkit.traits import Traits
from prompts import FALLBACK, form_texts, phrase, table
from prompts import files as prompt_files

LONGEST_VALUE, LONGEST_QUESTION = 600, 2_000
"""Characters of an argument, and of a whole question; a cut one gives the number of characters that are left out."""
RUN, SHORTEST_TAKEN = 4, 3
"""Words in a row that cannot be chance; the fewest letters of a text that counts as taken from another."""
ADDRESS = re.compile(r"\w[@./:]\w")
MOST_SHOWN = 20
"""Entries of a list that the user sees."""


async def question_before(call: RunningCall, asked_for: Json) -> Question | None:
    """Return the question to the user before this call runs; None if it may run at once.

    `call` has the real arguments, `asked_for` those of the model. Raises Refused if the user has said no to
    the same call already.
    """
    args, state = call.accepted, call.state
    is_foreign = _may_obey_others(call, asked_for)
    # A yes may cover calls that waited beside the one that was asked.
    agreed = waiting if (waiting := state.get("agreed")) and waiting["call"] == call.raw["id"] else None
    # Questions are compared in the language in which the user was asked.
    lang = agreed.get("lang", call.lang) if agreed else call.lang
    if args is None or (agreed and agreed.get("kind") != CONFIRM):
        return None
    when = "always" if _is_unsure(call) else call.traits.asks(args, call.runtime)
    mark = mark_of(call.traits, call.tool.name, asked_for)
    is_allowed = not agreed and mark in state.get("allowed", ())
    is_free = when == "never" or (when == "foreign" and not is_foreign)
    if is_allowed or (not agreed and is_free):
        return None
    if mark in state.get("declined", ()):
        raise Refused(phrase("confirm_declined", lang, tool=call.tool.name))
    asking: ToolState = {**state, "lang": lang}
    runtime = replace(call.runtime, state=asking)
    words = await call.traits.question(args, runtime) if call.traits.question else ""
    if words is None:
        return None
    what = _cut(words or worded(call.tool, args, asking), LONGEST_QUESTION)
    if agreed and what in agreed["prompt"]:
        return None
    has_read = is_foreign or state.get("foreign")
    prompt = phrase("confirm_foreign" if has_read else "confirm_always", lang, what=what)
    options = [Option(str(answer["label"]), id=str(answer["id"])) for answer in yes_or_no(lang)]
    return Question(prompt, options, kind=CONFIRM)


def _is_unsure(call: RunningCall) -> bool:
    """Tell whether a call is a write of which its model is not sure."""
    replies = (message for message in call.state.get("talk", ()) if isinstance(message, AIMessage))
    unsure = {made["id"] for reply in replies if notes_of(reply).get("unsure") for made in reply.tool_calls}
    return call.traits.effect == "write" and call.raw["id"] in unsure


def _may_obey_others(call: RunningCall, asked_for: Json) -> bool:
    """Tell whether others may have ordered a call.

    After foreign text a write is suspect, and a look-up unless the user has said its words. A server's descriptions of
    its tools are always read: a call is suspect if they name it or have its words, unless it is a call of that server.
    """
    if call.state.get("foreign") and _carries_foreign_words(call, asked_for):
        return True
    descriptions = [text for server, text in call.state.get("served", {}).items() if server != server_of(call.tool)]
    if not descriptions:
        return False
    name, own = call.tool.name, in_json(translation_of(call.tool).schema)
    return any(
        ("_" in name and name in description)
        or any(_is_taken(text, description, own, call.state) for text in _texts_in(asked_for))
        for description in descriptions
    )


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(inner)
    elif not isinstance(value, bool) and value is not None:
        yield str(value)


def _is_taken(text: str, description: str, own: str, state: ToolState) -> bool:
    """Tell whether a text is taken from a server's words: as a whole, with an address in it, or some words in a row.

    Words that the user has said are the user's own; a value in the tool's `own` schema is not taken either.
    """
    lang = state["lang"]
    row, theirs, ours = stems(text, lang), _row(description, lang), _row(own, lang)
    rows = [row, *(stems(address, lang) for address in text.split() if ADDRESS.search(address))]
    rows += [row[place : place + RUN] for place in range(len(row) - RUN + 1)]
    parts = {f" {' '.join(run)} " for run in rows if len("".join(run)) >= SHORTEST_TAKEN}
    return any(part in theirs and part not in ours and not _has_said(part, state) for part in parts)


@lru_cache(maxsize=100)
def _row(text: str, lang: str) -> str:
    """Return the words of a long text without their endings, in one line: a phrase is found there at one look."""
    return f" {' '.join(stems(text, lang))} "


def _carries_foreign_words(call: RunningCall, asked_for: Json) -> bool:
    """Tell whether a call may carry foreign words: a write may, and a look-up unless the user has said its words."""
    carried = [value for name, value in asked_for.items() if name in (call.traits.carries or asked_for)]
    return call.traits.effect == "write" or not _has_said(in_json(carried), call.state)


def _has_said(text: str, state: ToolState) -> bool:
    """Tell whether the words of a text are the user's own."""
    lang = state["lang"]
    users_stems = {stem for words in said_by_user(state, own=True) for stem in stems(words, lang)}
    return users_stems.union(small_words(lang)).issuperset(stems(text, lang))


def may_be_others(text: str, state: ToolState) -> bool:
    """Tell whether others may have written a text that a tool keeps: the speaker has read it, or may have.

    Words that the user has said are the user's own, whatever was read.
    """
    noted = [notes_of(message) for message in state.get("talk", ())]
    has_read = state.get("foreign") or any(note.get("foreign") or note.get("passed_on") for note in noted)
    is_served = any(_is_taken(text, description, "", state) for description in state.get("served", {}).values())
    return is_served or (bool(has_read) and not _has_said(text, state))


def said_by_user(state: ToolState, *, own: bool = False) -> list[str]:
    """Return the user's messages to the speaker of a call; with `own` without those that the user only passed on."""
    heard, talk = state["heard"], [message for message in state.get("talk", ()) if isinstance(message, HumanMessage)]
    now = [] if heard["source"] in ANSWERS or (own and not is_own(heard)) else [heard["text"] or ""]
    return [*now, *(message.text for message in talk if not (own and notes_of(message).get("passed_on")))]


def mark_of(traits: Traits, tool: str, args: Mapping[str, object]) -> str:
    """Return a short mark, the same for equal calls; all calls of a tool that asks once share one."""
    parts = [tool, {} if traits.asks_once else args]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def worded(tool: BaseTool, args: Json, state: ToolState) -> str:
    """Return a call in words for the user: the tool's title, and every argument that has a value."""
    lang, own, aliases = state["lang"], own_texts(tool), state.get("aliases", Aliases())
    shown_args = Swap(parameters(tool), lambda _, value: aliases.labels.get(str(value), value))(args)
    title = own.titles.get(lang) or own.titles.get(FALLBACK) or _texts("titles", state).get(tool.name)
    given_args = {name: value for name, value in shown_args.items() if value not in (None, "")}
    parts = [f"{labelled(name, tool, state)}: {_value(value, lang)}" for name, value in given_args.items()]
    shown = f" ({'; '.join(parts)})" if parts else ""
    return f"{title or tool.name.replace('_', ' ')}{shown}"


def labelled(name: str, tool: BaseTool, state: ToolState) -> str:
    """Return the name of an argument for the user."""
    lang, labels = state["lang"], own_texts(tool).labels.get(name, {})
    form = form_texts(state.get("speaker", ""), lang).get(name, {}) if tool.name == FILL_FORM else {}
    common = _texts("arguments", state).get(name)
    return str(labels.get(lang) or labels.get(FALLBACK) or form.get("label") or common or name)


def _texts(section: str, state: ToolState) -> Mapping[str, str]:
    """Return a section of `confirm.toml`; the speaker's own file goes before the others."""
    others = [path.with_suffix("").as_posix() for path in prompt_files(FALLBACK, "*/confirm.toml")]
    files = (*others, "confirm", f"{state.get('speaker', '')}/confirm")
    return {name: text for file in files for name, text in table(file, state["lang"]).get(section, {}).items()}


def _value(value: object, lang: str) -> str:
    if isinstance(value, bool):
        return phrase("confirm_yes" if value else "confirm_no", lang)
    if isinstance(value, list):
        return ", ".join([*(_value(entry, lang) for entry in value[:MOST_SHOWN]), *more(value)]) or "-"
    if isinstance(value, str):
        return f"“{_in_line(value)}”"
    return _in_line(value if isinstance(value, int | float) else in_json(value))


def more(entries: Sequence[object]) -> list[str]:
    """Return the number of entries of a list that are not shown, in words; nothing if all are."""
    return [f"… (+{len(entries) - MOST_SHOWN})"] if len(entries) > MOST_SHOWN else []


def _in_line(value: object) -> str:
    """Return a value in one line, without characters that could pass for the end of its quotation."""
    text = " ".join(readable(str(value), len(str(value)) + 1).split()).replace("“", '"').replace("”", '"')
    return _cut(text, LONGEST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… (+{len(text) - most})"
