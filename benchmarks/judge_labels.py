"""A stand-in for the model of `judge`: it answers as the labels say, so that the run only counts calls.

`--model labels`. It is a perfect router and a perfect caller of tools; its texts for the user have no meaning.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from agents.models import Models
from agents.state import SUPERVISOR
from agents.toolkit.handover_tools import FILL_FORM, HAND_BACK
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import CALL, MOST_BOUND
from app.testing.script import Call, Line, Script
from benchmarks.judge_cases import Case, SwitchCase, Want, WishCase
from prompts import languages, observer_prompt

OBSERVER = "observer"
LABELS = "labels"


@dataclass
class Playing:
    """The labelled turn of a task, and its remaining calls."""

    case: Case
    speakers: Speakers
    open: list[Want] = field(default_factory=list)

    def owner(self, want: Want) -> str:
        """Return the speaker with the tool of a wish."""
        names = {SUPERVISOR: self.speakers.supervisor, **self.speakers.dialogs}
        having = (name for name, speaker in names.items() if want.tool in [tool.name for tool in speaker.tools])
        forms = (name for name, dialog in self.speakers.dialogs.items() if dialog.form)
        return next(forms if want.tool == FILL_FORM else having)


_PLAYING: ContextVar[Playing] = ContextVar("playing")


class Labels(Script):
    """The models of all roles; each answers from the labels of the current task's turn."""

    def begin(self, case: Case, speakers: Speakers) -> None:
        """Set the turn of this task."""
        wants = list(case.wants) if isinstance(case, WishCase) else []
        _PLAYING.set(Playing(case, speakers, wants))

    def models_of(self, speakers: Speakers) -> Models:
        """Return the models of all roles."""
        return self.models([SUPERVISOR, OBSERVER, *speakers.dialogs])

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the line of `role` after the labels."""
        # Nothing reads the prompts again, and those of thousands of turns would fill the memory.
        self.asked.clear()
        playing = _PLAYING.get()
        if role == OBSERVER:
            return self._judged(playing, messages[0].text)
        if isinstance(playing.case, SwitchCase):
            return self._switched(playing.case, playing.speakers, role)
        return self._served(playing, role)

    def _judged(self, playing: Playing, prompt: str) -> str:
        case = playing.case
        if prompt in _FINISHED.values():
            return "yes" if isinstance(case, SwitchCase) and case.closing else "no"
        if isinstance(case, SwitchCase):
            return case.target or "stay"
        owner = playing.owner(playing.open[0]) if playing.open else "stay"
        return "own" if owner == SUPERVISOR else owner

    def _switched(self, case: SwitchCase, speakers: Speakers, role: str) -> Line:
        if case.target in (None, role):
            return "Gladly."
        if role == SUPERVISOR:
            return Call(speakers[case.target].tool, {"brief": case.text})
        return Call(HAND_BACK, {"reason": "another subject", "wish": case.text})

    def _served(self, playing: Playing, role: str) -> Line:
        own = [want for want in playing.open if playing.owner(want) == role]
        if own:
            playing.open.remove(own[0])
            is_bound = len(playing.speakers[role].tools) <= MOST_BOUND
            return (
                Call(own[0].tool, own[0].args) if is_bound else Call(CALL, {"name": own[0].tool, "args": own[0].args})
            )
        if not playing.open:
            return "Done."
        if role == SUPERVISOR:
            return [Call(playing.speakers[name].tool, {"brief": playing.case.text}) for name in self._next(playing)]
        return Call(HAND_BACK, {"reason": "another subject", "wish": playing.case.text})

    def _next(self, playing: Playing) -> Sequence[str]:
        return list(dict.fromkeys(playing.owner(want) for want in playing.open))


_FINISHED: Mapping[str, str] = {
    lang: observer_prompt("finished", lang, description="", reply="", known="")[0] for lang in languages()
}
