"""Simulated users: they talk for a number of turns, and each failure becomes a case."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field, model_validator

from agents.events import Interrupt, ToolEnd
from agents.toolkit.questions import CHOICE
from app.assistant import Assistant
from app.plugins.lab.cases import Case, CaseTurn, Expected
from app.plugins.lab.folder import lab_folder, named_after
from app.plugins.lab.live import Tell
from app.plugins.lab.played_turn import PlayedTurn, play
from app.plugins.lab.reasons import problem_text
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.variants import LabVariant, ask, staged_as
from app.settings import Settings
from app.yaml_file import FilePart
from prompts import FALLBACK, prompt

MOST_TALKS, MOST_TURNS = 1_000, 200
LONGEST_LINE = 1_000
"""The most characters of a message that a model writes for a user."""
DONE = "[done]"
"""A model's message for a user who has nothing more to say."""


class UserWish(FilePart):
    """A wish of a scripted user in several wordings, with the expectations of its turn."""

    says: tuple[str, ...] = Field(min_length=1)
    expect: Expected = Expected()


class SimulatedUser(FilePart):
    """A simulated user: scripted by wishes, or a model with a goal."""

    lang: str = FALLBACK
    wishes: tuple[UserWish, ...] = ()
    goal: str = ""
    temper: str = Field(default="plain", max_length=200)
    """The manner in which a model writes for the user, in free text."""
    model: str = ""
    """The model that speaks for a user with a goal, such as `openai:gpt-5-mini`."""

    @model_validator(mode="after")
    def _says_something(self) -> "SimulatedUser":
        if not self.wishes and not (self.goal and self.model):
            raise LabRefusal("no_wish")
        return self


class SimulationPlan(FilePart):
    """The order of a simulation: its users, and the number and length of the talks."""

    users: tuple[str, ...] = ()
    """Files of users; none: all."""
    talks: int = Field(default=20, ge=1, le=MOST_TALKS)
    turns: int = Field(default=8, ge=1, le=MOST_TURNS)
    """The most turns of a talk."""
    seed: int = 0
    """The seed of scripted users: the same seed gives the same messages."""
    variant: LabVariant = LabVariant()
    keep: bool = False
    """Whether each new failure is kept as a case."""


@dataclass
class Simulation:
    """The result of simulated talks."""

    talks: int
    turns: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """The number of talks that ended with each problem."""
    cases: dict[str, str] = field(default_factory=dict)
    """The files of the new cases, each with the user who met the problem."""

    def lines(self) -> list[str]:
        """Return the result of the talks as text, the most frequent problem first."""
        counts = f"{self.failures.total()} failures, {len(self.cases)} new cases"
        kinds = [f"{count:5}  {kind}" for kind, count in self.failures.most_common()]
        return [f"{self.talks} talks, {self.turns} turns, {counts}", *kinds, *(f"+ {name}" for name in self.cases)]


async def simulate(settings: Settings, order: SimulationPlan, tell: Tell = lambda done, talks: None) -> Simulation:
    """Let users talk, one after the other; a talk ends with its first failure.

    Raises:
        ConfigError: a model is wrong.
        UsageError: there is no user, or a file is wrong.
    """
    folder = lab_folder()
    if not (users := sorted(folder.every("users", SimulatedUser, *order.users).items())):
        raise LabRefusal("no_user")
    simulation = Simulation(order.talks)
    met: set[tuple[str | None, str]] = set()
    async with staged_as(settings, order.variant) as assistant:
        for talk in range(order.talks):
            name, user = users[talk % len(users)]
            partner = _Partner(user, random.Random(f"{order.seed} {talk}"), settings)
            played, problem = await _talk(assistant, partner, f"{name}-{talk}", order.turns)
            simulation.turns += len(played)
            if problem:
                simulation.failures[problem] += 1
            if problem and order.keep and (mark := (played[-1][0].text, problem)) not in met:
                met.add(mark)
                about = problem_text("talk", user=name, talk=talk, problem=problem[:100])
                turns = tuple(CaseTurn(user=turn.text, expect=expected) for turn, expected in played)
                case = Case(about=about, lang=user.lang, turns=turns, mocks=order.variant.mocks)
                simulation.cases[folder.add("cases", named_after(f"found-{problem}"), case)] = name
            tell(talk + 1, order.talks)
    return simulation


async def _talk(
    assistant: Assistant, partner: "_Partner", thread: str, turns: int
) -> tuple[list[tuple[PlayedTurn, Expected]], str]:
    """Return the turns of a talk, each with its expectations, and the problem of the last turn, if there is one."""
    played: list[tuple[PlayedTurn, Expected]] = []
    for _ in range(turns):
        text, expected, source = await partner.next([turn for turn, _ in played])
        if text is None:
            break
        turn = await play(assistant, text, lang=partner.user.lang, thread=thread, source=source)
        problems = expected.problems(turn)
        if played and _is_stuck(played[-1][0], turn):
            problems.append(problem_text("same_answer"))
        played.append((turn, expected))
        if problems:
            return played, problems[0]
    return played, ""


@dataclass
class _Partner:
    """A user in one talk."""

    user: SimulatedUser
    chance: random.Random
    settings: Settings

    async def next(self, played: Sequence[PlayedTurn]) -> tuple[str | None, Expected, str]:
        """Return the user's next message (None: nothing more), its expectations, and its source."""
        if played and (question := _question(played[-1])):
            option = self.chance.choice([*question.options])
            return option["label"], Expected(failed_tools=True), CHOICE
        if not self.user.wishes:
            return await self._from_model(played), Expected(), "message"
        wish = self.chance.choice(self.user.wishes)
        return self.chance.choice(wish.says), wish.expect, "message"

    async def _from_model(self, played: Sequence[PlayedTurn]) -> str | None:
        role = prompt("lab/user", self.user.lang, goal=self.user.goal, temper=self.user.temper, done=DONE)
        talk = "\n".join(f"you: {turn.text}\nassistant: {turn.answer}" for turn in played) or "-"
        line = (await ask(self.settings, self.user.model, role, talk))[:LONGEST_LINE]
        return None if not line or DONE in line else line


def _is_stuck(before: PlayedTurn, turn: PlayedTurn) -> bool:
    """Tell whether another message got the same answer; after a call of a tool, an equal answer may be right."""
    has_called = any(isinstance(event, ToolEnd) for event in turn.events)
    return bool(turn.answer) and before.answer == turn.answer and before.text != turn.text and not has_called


def _question(turn: PlayedTurn) -> Interrupt | None:
    """Return the question with options that a turn ended with."""
    if not turn.waits:
        return None
    questions = [event for event in turn.events if isinstance(event, Interrupt) and event.options]
    return questions[-1] if questions else None
