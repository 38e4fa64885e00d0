"""What a sentence does to the values of a form: add, remove, replace, correct."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.models.rules.matches import Match, first_match, replacing
from agents.models.rules.references import plain_number
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.small_talk import aside
from agents.models.rules.types import FILL_FORM, results
from agents.models.rules.values import clean, items, without
from agents.text.vocabulary import Vocabulary
from prompts import table


@dataclass
class Changes:
    """New values of fields, and what to tell the user about those that stay."""

    values: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Form:
    """The form as it stands when the user speaks."""

    now: Situation

    @property
    def values(self) -> Mapping[str, Any]:
        """Return what the fields hold."""
        return self.now.scene.get("form") or {}

    def is_list(self, name: str) -> bool:
        """Whether a field holds several values."""
        parameter = self.now.tools.get(FILL_FORM, {}).get(name)
        return parameter.kind == "texts" if parameter else isinstance(self.values.get(name), list)

    def read(self, name: str, raw: str) -> Any:
        """Return the value of a field in the user's words."""
        words = self.now.words
        if not self.is_list(name):
            return without(raw, words, "leads.hedges")
        said = (item for item in items(raw, words) if not aside(item, words))
        return [item for entry in said if (item := without(entry, words, "leads.hedges"))]

    def holding(self, raw: str) -> tuple[str, str] | None:
        """Return the field that holds what these words name, and the value or list item itself."""
        wanted = set(self.now.words.key(clean(raw, self.now.words)))
        for name, value in self.values.items():
            for held in value if isinstance(value, list) else [value]:
                if held and wanted and wanted <= set(self.now.words.stems(str(held))):
                    return name, str(held)
        return None

    def doubted(self, text: str) -> str | None:
        """Return the field that holds, or is, what the text says to be wrong: "nurse is wrong"."""
        words = self.now.words
        if not (found := first_match("edits.wrong", text, words.lang)):
            return None
        labels = table(f"forms/{self.now.own.form}", words.lang) if self.now.own and self.now.own.form else {}
        named = (name for name, entry in labels.items() if words.key(found["old"]) == words.key(entry["label"]))
        return next(named, None) or next(iter(self.holding(found["old"]) or ()), None)

    def last_filled(self) -> str | None:
        """Return the field that was filled last in this conversation."""
        for result in reversed(results(self.now.before)):
            if result.call.name == FILL_FORM:
                return next((name for name, value in result.call.args.items() if value), None)
        return None

    def counted(self, raw: str) -> tuple[str, str] | None:
        """Return the list that was filled last, and the item of it that these words count ("the second one")."""
        name, number = self.last_filled(), plain_number(raw, self.now.words)
        held = self.values.get(name or "")
        if not name or not number or not isinstance(held, list) or number > len(held):
            return None
        return name, str(held[number if number < 0 else number - 1])


def corrected(form: Form, text: str) -> Changes:
    """Return what a correction changes ("not Ruby but Rust", "I meant Rust"); nothing if it is none."""
    now, changes = form.now, Changes()
    lang = now.words.lang
    if (found := replacing(text, lang)) and (place := form.holding(found["old"])):
        _replace(form, changes, place, _value(form, found["new"]), found["old"])
        return changes
    last = form.last_filled()
    if last and form.values.get(last) and (found := first_match("edits.again", text, lang)):
        held = form.values[last]
        old = str(held[-1]) if isinstance(held, list) else str(held)
        _replace(form, changes, (last, old), _value(form, found["new"]), old)
        return changes
    if form.doubted(text):
        # Which item is wrong is said, but not what is right.
        changes.remarks.append(sentence("complaint", lang))
        return changes
    if found := first_match("edits.remove", text, lang):
        if place := form.holding(found["old"]):
            _remove(form, changes, place[0], found["old"])
        elif place := form.counted(found["old"]):
            _remove(form, changes, *place)
    return changes


def extended(form: Form, text: str, asked: str | None) -> Changes:
    """Return what "add X" changes when no field is named: the list asked for, or the one filled last."""
    now, changes = form.now, Changes()
    found = first_match("edits.add", text, now.words.lang)
    field_name = next((name for name in (asked, form.last_filled()) if name and form.is_list(name)), None)
    if found and field_name:
        _add(form, changes, field_name, form.read(field_name, found["new"]))
    return changes


def told(form: Form, matches: list[Match]) -> Changes:
    """Return what matched phrases change; several about one field add up."""
    changes = Changes()
    # What is added comes first, so that the only item of a list can be exchanged for another.
    for match in sorted(matches, key=lambda match: _removes(form, match)):
        for name, raw in match.slots.items():
            if _removes(form, match):
                _remove(form, changes, name, raw)
            elif _cued(match, "edits.replaced", form.now.words):
                changes.values[name] = form.read(name, raw)
            else:
                _add(form, changes, name, form.read(name, raw))
    return changes


def _removes(form: Form, match: Match) -> bool:
    return not match.pattern.of_form and _cued(match, "edits.removed", form.now.words)


def _add(form: Form, changes: Changes, name: str, value: Any) -> None:
    before = changes.values.get(name, form.values.get(name) if form.is_list(name) else None)
    if isinstance(value, list):
        known = {item.casefold() for item in before or []}
        changes.values[name] = [*(before or []), *(item for item in value if item.casefold() not in known)]
    else:
        changes.values[name] = f"{before}, {value}" if before else value


def _remove(form: Form, changes: Changes, name: str, raw: str) -> None:
    words, lang = form.now.words, form.now.lang
    held = changes.values.get(name, form.values.get(name))
    if not isinstance(held, list):
        changes.remarks.append(sentence("cannot_empty", lang))
        return
    gone = [set(words.key(item)) for item in items(raw, words)]
    kept = [item for item in held if not any(key <= set(words.stems(item)) for key in gone)]
    if kept == held:
        changes.remarks.append(sentence("not_there", lang, old=raw))
    elif not kept:
        changes.remarks.append(sentence("cannot_empty", lang))
    else:
        changes.values[name] = kept


def _replace(form: Form, changes: Changes, place: tuple[str, str], new: str, old: str) -> None:
    name, held = place
    value = form.values[name]
    if isinstance(value, list):
        fresh = items(new, form.now.words)
        swapped = [entry for item in value for entry in (fresh if item == held else [item])]
        changes.values[name] = list(dict.fromkeys(swapped))
    else:
        old = clean(old, form.now.words)
        changes.values[name] = held.replace(old, new) if old in held else new


def _value(form: Form, raw: str) -> str:
    """Return the value in a correction that is itself a sentence ("no, I am a doctor, not a nurse")."""
    match = form.now.book().find(raw)
    if match and match.pattern.of_form:
        raw = next(iter(match.slots.values()))
    return clean(raw, form.now.words)


def _cued(match: Match, name: str, words: Vocabulary) -> bool:
    return any(set(words.stems(cue)) <= set(match.pattern.literals) for cue in words.phrases(name))
