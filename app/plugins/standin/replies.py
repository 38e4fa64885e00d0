"""The words of a reply: small talk, abilities, results of tools. A reply claims nothing else."""

import json
import re
from collections.abc import Collection, Mapping, Sequence

import yaml

from agents.language.text.vocabulary import beside_denial
from app.plugins.standin.lists import is_list, numbered
from app.plugins.standin.situation import HELP, PROTOCOL, SEARCH, CallResult, Situation
from app.plugins.standin.vocabulary import sentence
from prompts import FALLBACK, card, carded

SMALL_TALK = ("who_are_you", "goodbye", "greeting", "thanks", "yes", "no", "wait")
LONGEST_RESULT = 1_000
"""Characters of a tool's object in a reply; the rest is cut."""
MOST_DOCUMENTS = 3
LONGEST_QUOTATION = 300
"""Characters of a quotation."""
_CODE = re.compile(r" ?[(（]\w+[:：] ?[a-z_]+[)）]")
"""A reason's code in brackets; only a model needs it."""
_MARK = re.compile(r"^\[[^\]]*\] ")
"""The source of a help text; only a model needs it."""


def small_talk(now: Situation) -> str:
    """Return the answer to a greeting, thanks and the like; empty if the text says anything else."""
    # "Not bad, thank you", "not today, bye".
    beside = beside_denial(now.heard, now.words.lang)
    lists = now.says(*SMALL_TALK) or now.words.made_of(beside, "goodbye", "thanks", "wait")
    name = next((name for name in SMALL_TALK if name in lists), "")
    if not (name or now.wishes):
        # "Thanks mate": any one word behind them may be a name.
        behind = {name: now.words.behind(now.heard, name) or () for name in ("goodbye", "greeting", "thanks")}
        name = next((name for name, rest in behind.items() if len(rest) == 1), "")
    if name == "who_are_you":
        return joined(sentence("who", now.lang), sentence("connect", now.lang), abilities(now))
    if name == "greeting" and not (now.own and now.own["form"]):
        return joined(greeting(now), sentence("greeted", now.lang), examples(now))
    if not name and not now.wishes and now.says("cancel"):
        return sentence("cancelled", now.lang)
    return sentence(name, now.lang) if name else ""


def greeting(now: Situation) -> str:
    """Return a greeting, with the user's name if it is known."""
    name = now.facts.get("name")
    return sentence("greeting_by_name", now.lang, name=name) if name else sentence("greeting", now.lang)


def abilities(now: Situation) -> str:
    """Name the dialogs, with examples."""
    titles = ", ".join(helper["title"] for helper in now.helpers.values())
    return joined(sentence("can", now.lang, abilities=titles) if titles else "", examples(now))


def examples(now: Situation, most: int = 3) -> str:
    """Show example phrases: a dialog's own while it speaks, else some of all dialogs and tools."""
    lang = now.lang if carded(now.lang) else FALLBACK
    names = now.own["tools"] if now.own else [*[*now.helpers][:2], *now.tools]
    phrases = (card(name, lang)[1] for name in names if name not in PROTOCOL)
    without_slots = [next((phrase for phrase in of_tool if "{" not in phrase), "") for of_tool in phrases]
    shown = _quoted(list(filter(None, dict.fromkeys(without_slots)))[:most], now.lang)
    return sentence("examples", now.lang, examples=shown) if shown else ""


def not_understood(now: Situation) -> str:
    """Say that the message was not understood, and show the two nearest examples."""
    if not now.heard:
        return joined(sentence("nothing_said", now.lang), abilities(now))
    shown = _quoted(now.phrases.nearest(now.heard)[:2], now.lang)
    near = sentence("nearest", now.lang, examples=shown) if shown else ""
    return joined(sentence("not_understood", now.lang), near or (examples(now) if now.own else abilities(now)))


def _quoted(entries: Sequence[object], lang: str) -> str:
    return ", ".join(sentence("example", lang, text=entry) for entry in entries)


def noted(now: Situation, args: Mapping[str, object]) -> str:
    """Name the values that the form has taken."""
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in args.items() if value}
    values = [sentence("value", now.lang, label=now.fields[it]["label"], value=value) for it, value in shown.items()]
    return sentence("noted", now.lang, values="; ".join(values))


def in_words(results: Sequence[CallResult], lookups: Collection[str], lang: str) -> str:
    """Put results that the user does not see into words: the last list under a heading, every other one unchanged."""
    acted = [result for result in results if result.call.name not in lookups]
    lines, listed = [], ""
    for result in acted or results[-1:]:
        if result.seen and not result.failed:
            continue
        if result.declined:
            lines.append(sentence("cancelled", lang))
        elif result.call.name == SEARCH:
            lines.append(sentence("nothing_found", lang) if result.failed else quotations(result.text, lang))
        elif result.failed:
            reason = _CODE.sub("", result.text)
            lines.append(sentence("failed", lang, reason=reason) if reason else sentence("broken", lang))
        elif is_list(result.text):
            listed = sentence("success" if acted else "listing", lang, list=result.text)
        else:
            lines.append(_MARK.sub("", result.text) if result.call.name == HELP else readable(result.text, lang))
            # A list within a deletion's result is newer.
            listed = "" if numbered(result.text) else listed
    return joined(*dict.fromkeys(lines), listed, by="\n")


def joined(*parts: str, by: str = " ") -> str:
    """Join the parts that are not empty."""
    return by.join(part for part in parts if part)


def quotations(text: str, lang: str) -> str:
    """Return the beginnings of a search's documents, each with the citation of its source."""
    lines: list[str] = []
    for result in json.loads(text)["results"]:
        # Without a blank line a heading would belong to the quotation before it.
        lines += ["", sentence("quoted", lang, query=result["query"])]
        for document in result["documents"][:MOST_DOCUMENTS]:
            title, _, body = str(document["text"]).partition("\n")
            passage = _bounded(" ".join((body or title).split()), LONGEST_QUOTATION)
            quoted = sentence("quotation", lang, passage=passage)
            lines.append(f"- {quoted} [source=[{document['reference_keyword']}]]")
    return "\n".join(lines[1:]) or sentence("nothing_found", lang)


def readable(text: str, lang: str) -> str:
    """Return the JSON of an object or a list as lines `key: value`; other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if value in ([], {}):
        return sentence("nothing_found", lang)
    if isinstance(value, dict | list):
        text = _bounded(yaml.safe_dump(value, allow_unicode=True, sort_keys=False).strip(), LONGEST_RESULT)
    return text


def _bounded(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
