"""The words of a reply: small talk, what can be done, results of tools. Nothing else is ever claimed."""

import re
from collections.abc import Iterable

from agents.models.standin.lists import only_entries
from agents.models.standin.phrasebook import showpiece
from agents.models.standin.quotations import quotations
from agents.models.standin.readable_json import readable
from agents.models.standin.sentences import sentence
from agents.models.standin.situation import Situation
from agents.models.standin.types import HELP, PROTOCOL, SEARCH, Call, Move, Result
from prompts import FALLBACK, carded

_MARK = re.compile(r"^\[[^\]]*\] ")
SMALL_TALK = ("who_are_you", "how_are_you", "goodbye", "greeting", "thanks", "yes", "no")


def small_talk(now: Situation) -> str | None:
    """Return the answer to a greeting, thanks and the like; None if the text says anything else."""
    lists = now.words.made_of(now.heard, *SMALL_TALK)
    name = next((name for name in SMALL_TALK if name in lists), None)
    if name is None:
        return None
    if name == "who_are_you":
        return joined(sentence("who", now.lang), sentence("connect", now.lang), abilities(now))
    if name == "greeting" and not (now.own and now.own.form):
        return joined(now.greeting, sentence("greeted", now.lang), examples(now))
    return sentence(name, now.lang)


def abilities(now: Situation) -> str:
    """Say what the dialogs are for, with examples."""
    titles = ", ".join(helper.title for helper in now.helpers)
    return joined(sentence("can", now.lang, abilities=titles) if titles else "", examples(now))


def examples(now: Situation, most: int = 3) -> str:
    """Show phrases that are understood: a dialog's own while it speaks, else some of everything."""
    own = now.own
    names: Iterable[str]
    if own:
        names = [name for name in own.tools if name not in PROTOCOL]
    else:
        names = [*(helper.tool for helper in now.helpers[:2]), *now.tools]
    shown = [example for name in names if name != HELP and (example := showpiece(name, _shown(now)))]
    some = [sentence("example", now.lang, text=example) for example in dict.fromkeys(shown)][:most]
    return sentence("examples", now.lang, examples=", ".join(some)) if some else ""


def not_understood(now: Situation) -> Move:
    """Say that the text was not understood, and what would be."""
    first = sentence("not_understood" if now.heard else "nothing_said", now.lang)
    return Move(joined(first, examples(now) if now.own else abilities(now)))


def ask_help(now: Situation) -> Move:
    """Hand a question that no rule answers to the help tool."""
    return Move(calls=(Call(HELP, {"query": now.heard}),))


def told(results: Iterable[Result], lookups: Iterable[str], lang: str) -> str:
    """Word the results of tools: lists under a heading, the last one only, everything else as it came."""
    reading = set(lookups)
    made = list(results)
    acted = [result for result in made if result.call.name not in reading]
    lines, listed = [], ""
    for result in acted or made[-1:]:
        if result.declined:
            lines.append(sentence("cancelled", lang))
        elif result.broken:
            lines.append(joined(sentence("broken", lang), result.text))
        elif result.call.name == SEARCH:
            lines.append(sentence("nothing_found", lang) if result.failed else quotations(result.text, lang))
        elif result.failed:
            lines.append(sentence("failed", lang, reason=result.text))
        elif only_entries(result.text):
            listed = sentence("success" if acted else "listing", lang, list=result.text)
        else:
            # Where help comes from is told to a model, in brackets.
            lines.append(readable(_MARK.sub("", result.text) if result.call.name == HELP else result.text, lang))
    return joined(*dict.fromkeys(lines), listed, by="\n")


def joined(*parts: str, by: str = " ") -> str:
    """Join the parts that say something."""
    return by.join(part for part in parts if part)


def _shown(now: Situation) -> str:
    """Return the language of the examples: the conversation's, if its tools have cards in it."""
    return now.lang if carded(now.lang) else FALLBACK
