"""The form of a dialog as it stands, and what a message changes in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.models.rules.arguments import Filler, Unclear
from agents.models.rules.lists import plain_number
from agents.models.rules.matches import Match
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.types import FILL_FORM, results
from agents.models.rules.values import clean, is_answer, items


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

    def kind(self, name: str) -> str:
        """Return what kind of value a field takes."""
        return self.now.tools[FILL_FORM][name].kind

    def takes_words(self, name: str) -> bool:
        """Tell whether a field takes any words, so that only their look tells an answer from something else."""
        return self.kind(name) in ("text", "texts")

    def read(self, name: str, raw: str) -> Any:
        """Return the value of a field in the user's words; None if they tell none."""
        words, kind = self.now.words, self.kind(name)
        if kind == "flag" and words.means(raw, "yes", "no"):
            return words.means(raw, "yes")
        if kind == "number":
            return plain_number(raw, words)
        try:
            return Filler(self.now).value(FILL_FORM, self.now.tools[FILL_FORM][name], raw)
        except Unclear:
            return None

    def last_filled(self) -> str | None:
        """Return the field that was filled last in this conversation; None if there is none, or several were."""
        for result in reversed(results(self.now.before)):
            if result.call.name == FILL_FORM:
                filled = [name for name, value in result.call.args.items() if value]
                return filled[0] if len(filled) == 1 else None
        return None

    def told(self, matches: Sequence[Match]) -> Changes:
        """Return what matched phrases change; several about one field add up."""
        changes = Changes()
        for match in matches:
            for name, raw in match.slots.items():
                if self.takes_words(name) and not is_answer(raw, self.now.words, may_command=True):
                    changes.remarks.append(sentence("complaint", self.now.lang))
                elif self._is_cued(match, "edits.replaced"):
                    changes.values[name] = self.read(name, raw)
                else:
                    self._add(changes, name, self.read(name, raw))
        return changes

    def replaced(self, name: str, old: str | None, new: str) -> Changes:
        """Return a field with a new value in place of an old one; without an old one, in place of all it holds."""
        words, held, places = self.now.words, self.values.get(name), self._places(name, old)
        if len(places) != 1:
            # Nobody can tell which of several is wrong.
            return Changes(remarks=[sentence("complaint", self.now.lang)])
        if not isinstance(held, list):
            return Changes({name: self.read(name, new)})
        items_left = [*held[: places[0]], *items(new, words), *held[places[0] + 1 :]]
        return Changes({name: list(dict.fromkeys(items_left))})

    def holds(self, name: str, raw: str) -> bool:
        """Tell whether a field is, or has among others, what these words name."""
        return bool(self._places(name, raw))

    def _places(self, name: str, raw: str | None) -> list[int]:
        """Return which values of a field these words name; all of them where there are no words."""
        words, held = self.now.words, self.values.get(name)
        listed = held if isinstance(held, list) else [held] if held else []
        key = words.key(clean(raw, words)) if raw else ()
        return [place for place, value in enumerate(listed) if not raw or words.key(str(value)) == key]

    def _is_cued(self, match: Match, cues: str) -> bool:
        words = self.now.words
        literals = set(match.pattern.literals)
        return not match.pattern.of_form and any(set(words.stems(cue)) <= literals for cue in words.phrases(cues))

    def _add(self, changes: Changes, name: str, value: Any) -> None:
        before = changes.values.get(name, self.values.get(name) if self.kind(name) == "texts" else None)
        if isinstance(value, list):
            names = {item.casefold() for item in before or []}
            changes.values[name] = [*(before or []), *(item for item in value if item.casefold() not in names)]
        elif value is not None:
            changes.values[name] = f"{before}, {value}" if before and isinstance(value, str) else value
