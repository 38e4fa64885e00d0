"""Models in the lab: one that judges, and one that plays a user; each is a server on this machine."""

import json

import pytest

from agents.errors import UsageError
from app.plugins.lab.cases import Case
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.runs import RunOrder, run_cases, summaries, table_lines
from app.plugins.lab.simulation import SimulatedUser, SimulationPlan, simulate
from app.settings import Settings
from prompts import prompt
from tests.support.odd_provider import Provider

pytestmark = pytest.mark.needs("standin")

MODEL = "openai:m"


def completion(text: str) -> bytes:
    """Return the whole answer of a server."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"{head}\r\n\r\n".encode() + body


async def test_a_model_judges(settings: Settings) -> None:
    """It is told the criterion and the talk as data; its verdict is kept with the reason, and no verdict is none."""
    case = Case.model_validate({"criterion": "The time is told.", "turns": [{"user": "what time is it?"}]})
    said = ["<think>well</think>Yes, it tells the time.", "No.", "**Yes**\nIt does.", "no It lies.", "Perhaps."]
    said += ["Yes and no.", "No idea", "Nobody asked.", "Criterion: yes"]
    async with Provider.open(*map(completion, said), b"HTTP/1.1 401 Unauthorized\r\n\r\n") as provider:
        own = settings.model_copy(update={"openai_base_url": provider.url})
        run = await run_cases(own, {"x": case}, RunOrder(times=10, judge=MODEL))
    assert [(each.model, each.reason) for each in run.results] == [
        (True, "it tells the time."),
        (False, ""),
        (True, "It does."),
        (False, "It lies."),
        *((None, words) for words in said[4:]),
        (None, f"{MODEL} does not answer (OpenAIAuthenticationError)"),
    ]
    assert run.agreement()["checks", "model"] == (2, 4)
    assert next(line for line in table_lines(run) if line.startswith("?")) == "? x (as set): not answered: Perhaps."
    system, asked = provider.bodies[0]["messages"]
    assert system["content"] == prompt("lab/judge", "en")
    assert "The time is told." in asked["content"]
    assert "user: what time is it?" in asked["content"]


async def test_a_model_judges_by_several_criteria(settings: Settings) -> None:
    """Each line of the criterion is judged by itself, with a score and a reason; good is what meets all of them.

    Without one it is what the user wanted.
    """
    data = {"criterion": "It is polite.\n\nIt is short.", "turns": [{"user": "what time is it?"}]}
    said = [
        "yes 8/10: Polite.",
        "No, 2,5/10. It is long.",
        "Yes. 7 words of 10 are polite.",
        "Well.",
        "yes (10/10)",
        "Yes 9 / 10",
        "yes",
    ]
    async with Provider.open(*map(completion, said)) as provider:
        own = settings.model_copy(update={"openai_base_url": provider.url})
        run = await run_cases(own, {"x": Case.model_validate(data)}, RunOrder(times=3, judge=MODEL))
        await run_cases(own, {"x": Case.model_validate({**data, "criterion": ""})}, RunOrder(judge=MODEL))
    assert [(each.model, each.reason) for each in run.results] == [(False, "It is long."), (None, "Well."), (True, "")]
    judgements = [each for result in run.results for each in result.judgements]
    assert [each.criterion for each in judgements[:2]] == ["It is polite.", "It is short."]
    assert [each.score for each in judgements] == [8, 2.5, None, None, 10, 9]
    assert (judgements[0].reason, judgements[2].reason) == ("Polite.", "7 words of 10 are polite.")
    assert summaries(run)[0]["score"] == "7.4"
    assert "It is polite." in provider.bodies[0]["messages"][1]["content"]
    assert "what the user wants" in provider.bodies[-1]["messages"][1]["content"]


async def test_a_model_plays_a_user(settings: Settings) -> None:
    """A user with a goal talks until it is done; the model reads the assistant's words as data."""
    user = SimulatedUser(goal="learn the time", temper="in a hurry", model=MODEL)
    lab_folder().write("users", "clock", user)
    async with Provider.open(completion("what time is it?"), completion("[done]")) as provider:
        own = settings.model_copy(update={"openai_base_url": provider.url})
        outcome = await simulate(own, SimulationPlan(talks=1, turns=5))
    assert (outcome.turns, outcome.failures) == (1, {})
    first, second = (body["messages"] for body in provider.bodies)
    assert "learn the time" in first[0]["content"]
    assert "in a hurry" in first[0]["content"]
    assert second[1]["content"].startswith("you: what time is it?\nassistant: ")


async def test_a_model_that_does_not_answer_is_told(settings: Settings) -> None:
    """A server that fails ends the work with a line, not with a traceback."""
    lab_folder().write("users", "asker", SimulatedUser(goal="x", model=MODEL))
    async with Provider.open(b"HTTP/1.1 401 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as provider:
        own = settings.model_copy(update={"openai_base_url": provider.url})
        with pytest.raises(UsageError, match="openai:m does not answer"):
            await simulate(own, SimulationPlan(talks=1, turns=1))


def test_a_user_says_something() -> None:
    """A user has wishes, or a goal and a model."""
    for wrong in ({}, {"goal": "x"}):
        with pytest.raises(ValueError, match="wishes"):
            SimulatedUser.model_validate(wrong)
