"""The choice of an option on the screen by the user's words: "2", "the second one", "the cheap one", a label, a tap.

Only a plain answer counts; with any other word the message is about something else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.language.schedule.grammar import words as moment_words
from agents.language.text.stems import plain, words
from agents.language.text.vocabulary import Vocabulary, is_said, listening, phrases, vocabulary
from prompts import phrase, table

_NUMBER = re.compile(r"(?:[#№]|no\.?\s|nr\.?\s)?\s*(\d{1,3})[.)!]?", re.IGNORECASE)
_NEGATIVE = re.compile(r"[-−]\s?\d+")
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th|-[а-я]{1,2})?")
CONFIRM = "confirm"
"""The kind of a yes-or-no question."""
INTERRUPT = "interrupt"
"""The kind of a question by `interrupt()`: any words of the user are the answer."""
SELECTOR = "selector"
"""The kind of a question with options."""
YES, NO = "yes", "no"
AROUND = ("fillers", "thanks", "choosing", "pointing")
"""Lists of words that may stand behind a yes without a change of its meaning."""
OptionRow = Mapping[str, Any]


def chosen(text: str, options: Sequence[OptionRow], lang: str) -> int | None:
    """Return the place of the one option that the text names; None if it names none, or more than one."""
    text = text.strip()
    words = vocabulary(listening(text, lang))
    exact, loose = (_by_id, _by_label, _by_figure, _by_extent), (_by_number, _by_fact, _by_words)
    for find in exact if _is_about(text, words) or _NEGATIVE.fullmatch(text) else (*exact, *loose):
        if (place := find(text, options, words)) is not None:
            return place
    return None


def misses(text: str, options: Sequence[OptionRow], lang: str) -> bool:
    """Tell whether a text without a choice is only a number, and no option has this number."""
    text = text.strip()
    words = vocabulary(listening(text, lang))
    if figure := _NUMBER.fullmatch(text):
        return _at(int(figure[1]), options) is None
    number = None if _is_about(text, words) else _number(text, words)
    return bool(_NEGATIVE.fullmatch(text)) or (number is not None and _at(number, options) is None)


def naming(place: int, options: Sequence[OptionRow], lang: str) -> str:
    """Return a user's words by which `chosen` finds an option: its label, else its id or number."""
    option = options[place]
    words = (option["label"], option["id"], str(place + 1))
    return str(next((word for word in words if chosen(word, options, lang) == place), words[1]))


def _by_id(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    return _only(place for place, option in enumerate(options) if option["id"] and option["id"] == text)


def _by_label(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    # A label without letters, such as an emoji, has no key: only the very same text means it.
    key = words.key(text)
    labels = ((place, option["label"].strip()) for place, option in enumerate(options))
    return _only(place for place, label in labels if text and (label == text or (key and words.key(label) == key)))


def _by_figure(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    """Find "2", "2.", "#2", "No. 2"."""
    return _at(int(figure[1]), options) if (figure := _NUMBER.fullmatch(text)) else None


def _by_extent(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    """Find "all of them" or "only this one" among options of which one alone says so in its label."""
    meant = [idea for idea in ("all", "single") if words.means(text, idea)]
    return _only(place for place, option in enumerate(options) if any(is_said(idea, option["label"]) for idea in meant))


def _by_number(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    """Find "number 2", "the second one", "number seventeen", "the last one"."""
    return _at(number, options) if (number := _number(text, words)) is not None else None


def _by_fact(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    """Find "the cheap one": the only option with the least or the greatest value of a fact."""
    stems = _content(text, words)
    for meaning in table("words", words.lang).get("superlatives", {}).values():
        fitting = {stem for phrase in meaning["phrases"] for stem in words.stems(phrase)}
        facts = [fact for option in options if (fact := option.get("facts", {}).get(meaning["fact"])) is not None]
        alike = len({isinstance(fact, str) for fact in facts}) == 1
        if stems and stems <= fitting and len(facts) == len(options) and alike:
            best = max(facts) if meaning["most"] else min(facts)
            return _only(place for place, fact in enumerate(facts) if fact == best)
    return None


def _by_words(text: str, options: Sequence[OptionRow], words: Vocabulary) -> int | None:
    """Find "the blue one": the option with every word that matters; of several, the one that begins with them."""
    stems = _content(text, words) - words.stop
    fitting = [place for place, option in enumerate(options) if stems and stems <= _held(option, words)]
    # "By card" does not mean a gift card.
    begun = [place for place in fitting if {*words.stems(options[place]["label"])[: len(stems)]} == stems]
    return _only(fitting if len(fitting) == 1 else begun)


def _held(option: OptionRow, words: Vocabulary) -> set[str]:
    # The options of an event, which doors have, carry no facts.
    facts = " ".join(str(fact) for fact in option.get("facts", {}).values())
    return set(words.stems(f"{option['label']} {option.get('detail', '')} {facts}"))


def _content(text: str, words: Vocabulary) -> set[str]:
    """Return the stems that point out an option; "one" does in "number one", but not in "that one"."""
    stems = set(words.stems(text))
    small = words.fillers | words.listed("choosing")
    pointing = words.listed("pointing") - set(words.numbers)
    return (stems - small) or (set() if stems & pointing else stems & set(words.numbers))


def _is_about(text: str, words: Vocabulary) -> bool:
    """Tell whether a text does not choose: it asks about the options, tells of one, rules one out or says goodbye."""
    beside = {"".join(words.stems(entry)) for name in ("negation", "statements") for entry in words.phrases(name)}
    is_told = bool(beside & set(words.stems(text)) or words.made_of(text, "goodbye"))
    return is_told or text.endswith(("?", "？")) or words.asks(text)


def _number(text: str, words: Vocabulary) -> int | None:
    """Return the number in a text that says nothing else of importance; -1 is the last."""
    figured = moment_words(words.lang).figured(plain(text).casefold().replace("ё", "е"))
    stems = _content(figured, words)
    numbers = [int(figure[1]) if (figure := _ORDINAL.fullmatch(stem)) else words.numbers.get(stem) for stem in stems]
    return numbers[0] if len(numbers) == 1 else None


def _at(number: int, options: Sequence[OptionRow]) -> int | None:
    if number == -1:
        return len(options) - 1
    return number - 1 if 1 <= number <= len(options) else None


def _only(places: Iterable[int]) -> int | None:
    several = list(places)
    return several[0] if len(several) == 1 else None


def yes_or_no(lang: str) -> list[dict[str, object]]:
    """Return the two answers as the options of a question."""
    return [
        {"label": phrase(f"confirm_{answer}", lang), "value": None, "detail": "", "id": answer, "facts": {}}
        for answer in (YES, NO)
    ]


def agreed(text: str, options: Sequence[OptionRow], lang: str, question: str = "") -> bool | None:
    """Return whether a text says yes (True) or no (False) to a call; None if it plainly says neither.

    A question is neither, and a yes that trails off ("yes…") is none.
    """
    ending = text.rstrip()
    if ending.endswith(("?", "？")):
        return None
    answer = _answer(text, options, lang, question)
    return None if answer and ending.endswith(("…", "...")) else answer


def _answer(text: str, options: Sequence[OptionRow], lang: str, question: str) -> bool | None:
    if is_said(YES, text) or is_said("agree", text) or _names_deed(text, question, lang):
        return True
    declining = vocabulary(listening(text, lang)).made_of(text, NO, "cancel", "thanks") - {"thanks"}
    if declining or is_said(NO, text) or is_said("cancel", text):
        return False
    place = chosen(text, options, lang)
    if place is not None:
        return bool(options[place]["id"] == YES)
    return True if _begins_with_yes(text, listening(text, lang)) else None


def _names_deed(text: str, question: str, lang: str) -> bool:
    """Tell whether a text orders the deed in a question: "delete it" is a yes to "Delete the list?" alone."""
    own, lexicon = vocabulary(listening(text, lang)), vocabulary(lang)
    stems = {*lexicon.stems(question)} - lexicon.stop - lexicon.fillers
    deeds = [f"deeds.{deed}" for deed in own.table["deeds"]]
    return any(own.means(text, deed) and stems & lexicon.listed(deed) for deed in deeds)


def adds_to_yes(text: str, question: str, lang: str) -> bool:
    """Tell whether a text is a yes and a wish of its own, "yes, and book a table".

    A wish that points at the question's subject, names it or changes it ("and make it the gift card") is none.
    """
    lexicon = vocabulary(listening(text, lang))
    answer = next((name for name in (YES, "agree") if lexicon.behind(text, name, "adding")), None)
    if answer is None or lexicon.behind(text, answer, "adding", "changing") is not None:
        return False
    wishes = [lexicon.behind(text, answer, "adding", idea) for idea in ("wishing", "acting")]
    wish = next((wish for wish in wishes if wish), ())
    things = {*lexicon.stems(question)} - lexicon.stop - lexicon.fillers
    points = any(tuple(lexicon.stems(entry)) == wish[:1] for entry in lexicon.phrases("pointing"))
    return bool(wish) and not points and (lexicon.listed("narrowing") | things).isdisjoint(wish)


def _begins_with_yes(text: str, lang: str) -> bool:
    """Tell whether a text is a yes without a restriction behind it: "yes please, do that"."""
    small = vocabulary(lang).listed(*AROUND) - vocabulary(lang).listed("narrowing")
    spaced = f" {' '.join(words(text))} "
    for entry in sorted((*phrases(YES, lang), *phrases("agree", lang)), key=len, reverse=True):
        if spaced.startswith(entry):
            rest = spaced.removeprefix(entry)
            said_again = any(f" {rest.strip()} " in phrases(idea, lang) for idea in (YES, "agree"))
            return said_again or set(vocabulary(lang).stems(rest)) <= small
    return False
