"""The words of a reply: small talk, what can be done, results of tools. A reply claims nothing else."""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from app.plugins.standin.lists import entries_of, is_list
from app.plugins.standin.patterns import FILL_FORM
from app.plugins.standin.situation import HELP, PROTOCOL, SEARCH, CallResult, PlannedCall, Situation
from app.plugins.standin.values import REFERRING
from app.plugins.standin.vocabulary import sentence
from prompts import FALLBACK, card, carded, table

SMALL_TALK = ("who_are_you", "how_are_you", "goodbye", "greeting", "thanks", "yes", "no")
TEXTS = ("titles", "arguments")
MOST_LINES = 10
LONGEST_LINE = 200
"""Characters of a line of an object; the rest is cut."""
MOST_DOCUMENTS = 3
LONGEST_QUOTATION = 300
"""Characters."""
_CODE = re.compile(r" ?[(（]\w+[:：] ?[a-z_]+[)）]")
"""A reason's code in brackets; only a model needs it."""
_MARK = re.compile(r"^\[[^\]]*\] ")


def small_talk(now: Situation) -> str:
    """Return the answer to a greeting, thanks and the like; empty if the text says anything else."""
    lists = now.says(*SMALL_TALK)
    name = next((name for name in SMALL_TALK if name in lists), "")
    if name == "who_are_you":
        return joined(sentence("who", now.lang), sentence("connect", now.lang), abilities(now))
    if name == "greeting" and not (now.own and now.own.form):
        return joined(greeting(now), sentence("greeted", now.lang), examples(now))
    return sentence(name, now.lang) if name else ""


def greeting(now: Situation) -> str:
    """Return a greeting, by name if that is known."""
    name = now.facts.get("name")
    return sentence("greeting_by_name", now.lang, name=name) if name else sentence("greeting", now.lang)


def abilities(now: Situation) -> str:
    """Say what the dialogs are for, with examples."""
    titles = ", ".join(helper.title for helper in now.helpers)
    return joined(sentence("can", now.lang, abilities=titles) if titles else "", examples(now))


def examples(now: Situation, most: int = 3) -> str:
    """Show phrases that are understood: a dialog's own while it speaks, else some of everything."""
    lang = now.lang if carded(now.lang) else FALLBACK
    names = now.own.tools if now.own else [*(helper.tool for helper in now.helpers[:2]), *now.tools]
    phrases = (card(name, lang)[1] for name in names if name not in PROTOCOL)
    without_slots = [next((phrase for phrase in of_tool if "{" not in phrase), "") for of_tool in phrases]
    shown = [sentence("example", now.lang, text=phrase) for phrase in dict.fromkeys(without_slots) if phrase][:most]
    return sentence("examples", now.lang, examples=", ".join(shown)) if shown else ""


def not_understood(now: Situation) -> str:
    """Say that the text was not understood, and the two nearest things that would be."""
    if not now.heard:
        return joined(sentence("nothing_said", now.lang), abilities(now))
    nearest = now.phrases.nearest(now.heard)[:2]
    shown = ", ".join(sentence("example", now.lang, text=phrase) for phrase in nearest)
    near = sentence("nearest", now.lang, examples=shown) if shown else ""
    return joined(sentence("not_understood", now.lang), near or (examples(now) if now.own else abilities(now)))


def said_back(now: Situation, calls: Sequence[PlannedCall]) -> str:
    """Say what these calls would do, and ask whether they shall. Who only looks changes nothing and is not named."""
    return sentence("shall", now.lang, what=_worded_calls(now, calls))


def lapsed(now: Situation) -> str:
    """Say what was said back and is not done, since the user says neither yes nor no; empty if nothing was."""
    shall = now.note("shall")
    if not shall or now.results or now.says("yes", "no", "cancel"):
        return ""
    calls = [PlannedCall(call["name"], call["args"]) for call in shall["calls"]]
    return sentence("lapsed", now.lang, what=_worded_calls(now, calls))


def _worded_calls(now: Situation, calls: Sequence[PlannedCall]) -> str:
    writing = [call for call in calls if now.writes(call.name)] or calls
    return "; ".join(_worded(now, call) for call in writing)


def _worded(now: Situation, call: PlannedCall) -> str:
    files = ("confirm", f"{now.own.dialog}/confirm" if now.own else "confirm")
    titles, labels = ({**table(files[0], now.lang)[it], **table(files[1], now.lang).get(it, {})} for it in TEXTS)
    labels |= {name: field["label"] for name, field in now.fields.items()}
    shown = {
        name: _quoted(_named(now, call, name), now.lang) for name in call.args if _is_shown(now, call, name, labels)
    }
    is_plain = len(shown) == 1 and call.name != FILL_FORM
    args = ", ".join(value if is_plain else f"{labels.get(name, name)} {value}" for name, value in shown.items())
    return sentence("call", now.lang, what=titles.get(call.name, call.name.replace("_", " ")), args=args)


def _is_shown(now: Situation, call: PlannedCall, name: str, labels: Mapping[str, str]) -> bool:
    """Tell whether an argument is said back: it has a value, and is no choice that has no words of its own."""
    parameter = now.tools[call.name].get(name)
    is_silent = parameter is not None and parameter.kind == "choice" and not parameter.required and name not in labels
    return call.args[name] not in (None, "") and not is_silent


def _named(now: Situation, call: PlannedCall, name: str) -> object:
    """Return an argument's value, with the entries themselves in place of their numbers."""
    value, entries = call.args[name], entries_of(now, call.name) or {}
    if name not in REFERRING:
        return value
    if isinstance(value, list):
        return [entries.get(it, it) for it in value]
    return entries.get(value, value) if isinstance(value, int) else value


def _quoted(value: object, lang: str) -> str:
    entries = value if isinstance(value, list) else [value]
    return ", ".join(sentence("example", lang, text=_inline(entry, lang)) for entry in entries)


def noted(now: Situation, args: Mapping[str, object]) -> str:
    """Say what was written into the form."""
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in args.items() if value}
    labels = {name: field["label"] for name, field in now.fields.items()}
    values = [sentence("value", now.lang, label=labels[name], value=value) for name, value in shown.items()]
    return sentence("noted", now.lang, values="; ".join(values))


def in_words(results: Sequence[CallResult], lookups: Collection[str], lang: str) -> str:
    """Word the results of tools: lists under a heading, the last one only, everything else as it came.

    What the user sees is not said again.
    """
    acted = [result for result in results if result.call.name not in lookups]
    lines, listed = [], ""
    for result in acted or results[-1:]:
        if result.seen and not result.failed:
            continue
        if result.declined:
            lines.append(sentence("cancelled", lang))
        elif result.broken:
            lines.append(joined(sentence("broken", lang), result.text))
        elif result.call.name == SEARCH:
            lines.append(sentence("nothing_found", lang) if result.failed else quotations(result.text, lang))
        elif result.failed:
            lines.append(sentence("failed", lang, reason=_CODE.sub("", result.text)))
        elif is_list(result.text):
            listed = sentence("success" if acted else "listing", lang, list=result.text)
        else:
            # The source of a help text stands in brackets; only a model needs it.
            lines.append(readable(_MARK.sub("", result.text) if result.call.name == HELP else result.text, lang))
    return joined(*dict.fromkeys(lines), listed, by="\n")


def joined(*parts: str, by: str = " ") -> str:
    """Join the parts that say something."""
    return by.join(part for part in parts if part)


def quotations(text: str, lang: str) -> str:
    """Return the beginnings of the documents that a search found, each with the mark of its source."""
    lines: list[str] = []
    for result in json.loads(text)["results"]:
        # Without a blank line a heading would belong to the quotation before it.
        lines += [""] if lines else []
        lines.append(sentence("quoted", lang, query=result["query"]))
        for document in result["documents"][:MOST_DOCUMENTS]:
            title, _, body = str(document["text"]).partition("\n")
            passage = _bounded(" ".join((body or title).split()), LONGEST_QUOTATION)
            quotation = sentence("quotation", lang, passage=passage)
            lines.append(f"- {quotation} [source=[{document['reference_keyword']}]]")
    return "\n".join(lines) or sentence("nothing_found", lang)


def readable(text: str, lang: str) -> str:
    """Return the JSON of an object as lines `key: value`, that of a list with numbers; any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict | list):
        return text
    if isinstance(value, dict):
        lines = _pairs(value, lang)
    else:
        lines = [f"{number}. {_inline(entry, lang)}" for number, entry in enumerate(value, 1)]
    rest = [sentence("more_of_it", lang)] if len(lines) > MOST_LINES else []
    shown = [_bounded(line, LONGEST_LINE) for line in lines[:MOST_LINES]]
    return "\n".join([*shown, *rest]) or sentence("nothing_found", lang)


def _pairs(entries: Mapping[str, object], lang: str) -> list[str]:
    return [f"{name.replace('_', ' ')}: {_inline(it, lang)}" for name, it in entries.items() if it is not None]


def _inline(value: object, lang: str) -> str:
    match value:
        case bool():
            return sentence("true" if value else "false", lang)
        case float() if value.is_integer():
            return str(int(value))
        case dict():
            return ", ".join(_pairs(value, lang)) or "-"
        case list():
            return "; ".join(_inline(item, lang) for item in value) or "-"
    return "-" if value is None else " ".join(str(value).split())


def _bounded(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
