"""The form of a dialog as it stands, and what a message changes in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.models.standin.arguments import Filler, Plan, Unclear
from agents.models.standin.lists import plain_number
from agents.models.standin.pattern import Match
from agents.models.standin.phrasebook import first_match
from agents.models.standin.plan import follow
from agents.models.standin.sentences import sentence
from agents.models.standin.situation import Situation
from agents.models.standin.types import FILL_FORM
from agents.models.standin.values import clean, is_answer, is_plain, items
from agents.models.standin.wishes import without_small_talk


@dataclass
class Understood:
    """What shall become of a message: new values of fields, and tools to call or wishes to pass on."""

    values: dict[str, Any] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)


@dataclass(frozen=True)
class Form:
    """The form as it stands when the user speaks, and the field that the last reply asked for."""

    now: Situation
    asked: str | None

    @property
    def values(self) -> Mapping[str, Any]:
        """Return what the fields hold."""
        return self.now.scene.get("form") or {}

    def kind(self, name: str) -> str:
        """Return what kind of value a field takes."""
        return self.now.tools[FILL_FORM][name].kind

    def understand(self) -> Understood:
        """Return what the user's words mean: a correction, sentences and wishes, or the answer to the question."""
        now, meant = self.now, Understood()
        if swap := first_match("edits.replace", now.heard, now.words.lang):
            self._replace(meant, swap["old"], swap["new"])
            if meant.values:
                return meant
        lists = {name for name in now.scene.get("fields", ()) if self.kind(name) == "texts"}
        matches = now.wishes(frozenset({self.asked, *lists} if self.asked else {}))
        field_matches = [match for match in matches if not match.owner and match.tool == FILL_FORM]
        others = tuple(match for match in matches if match not in field_matches)
        if field_matches or not self.asked or any(match.pattern.strong for match in others):
            for match in field_matches:
                self._tell(meant, match)
            follow(now, Filler(now, with_lists=False), meant.plan, others)
            if meant.plan.remarks:
                meant.values = {}
        elif not matches:
            self._answer(meant)
        return meant

    def _answer(self, meant: Understood) -> None:
        """Take the words as the answer to what was asked: by a tool that lacks a value ("as JSON"), or for a field."""
        now, asks = self.now, self.now.note("asks")
        text = without_small_talk(now.heard, now.words)
        if asks and asks["tool"] in now.tools and asks["tool"] != FILL_FORM:
            Filler(now, with_lists=False).add(meant.plan, asks["tool"], {asks["slot"]: text}, asks["args"])
        elif self.asked and (self.kind(self.asked) not in ("text", "texts") or is_answer(text, now.words)):
            value = self._read(self.asked, text)
            meant.values |= {} if value is None else {self.asked: value}

    def _tell(self, meant: Understood, match: Match) -> None:
        """Add what a sentence tells; a value that a field has already is changed by saying so, not in passing."""
        words = self.now.words
        replaces = not match.pattern.of_form and words.listed("edits.replaced") & match.pattern.literals
        for name, raw in match.slots.items():
            value, held = self._read(name, raw), self.values.get(name)
            if isinstance(value, list) and not replaces:
                before = meant.values.get(name, held) or []
                names = {item.casefold() for item in before}
                meant.values[name] = [*before, *(item for item in value if item.casefold() not in names)]
            elif held and match.pattern.of_form and name != self.asked:
                meant.plan.remarks.append(sentence("complaint", self.now.lang))
            elif value is not None:
                meant.values[name] = value

    def _replace(self, meant: Understood, old: str, new: str) -> None:
        """Put one value in place of another, if just one field holds that one."""
        words = self.now.words
        key = words.key(clean(old, words))
        holders = [
            (name, place)
            for name, held in self.values.items()
            for place, value in enumerate(held if isinstance(held, list) else [held])
            if value is not None and words.key(str(value)) == key
        ]
        if len(holders) != 1 or not is_plain(new, "", words, of_form=True):
            return
        (name, place), held = holders[0], self.values[holders[0][0]]
        if isinstance(held, list):
            meant.values[name] = list(dict.fromkeys([*held[:place], *items(new, words), *held[place + 1 :]]))
        elif (value := self._read(name, new)) is not None:
            meant.values[name] = value

    def _read(self, name: str, raw: str) -> Any:
        """Return the value of a field in the user's words; None if they tell none."""
        words, kind = self.now.words, self.kind(name)
        if kind == "flag" and (answer := words.made_of(raw, "yes", "no")):
            return "yes" in answer
        if kind == "number":
            return plain_number(raw, words)
        try:
            return Filler(self.now).value(FILL_FORM, self.now.tools[FILL_FORM][name], raw)
        except Unclear:
            return None
