"""Agents of the lab: one file, private until shared, with versions; then a dialog for everybody, or gone."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from agents.errors import ContractError, UsageError
from app.assistant import Assistant
from app.composition import dialogs_of, open_assistant
from app.extensions import shipped
from app.plugins.lab.agent_file import AgentFile
from app.plugins.lab.agents import Workshop, agent_of
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.forms import form_data
from app.plugins.lab.live import OpenTalks
from app.plugins.lab.mocks import Mock, MockOutcome
from app.plugins.lab.played_turn import play
from app.plugins.lab.variants import LabVariant
from app.settings import Settings
from app.yaml_file import FilePart
from dialogs import STEPS

pytestmark = pytest.mark.needs("planner", "standin")
WEATHER = Mock.model_validate(
    {
        "tool": "depot_weather",
        "description": "Used for the weather at a depot.",
        "examples": {"en": ["how cold is it at the depot"]},
        "outcomes": [{"object": {"degrees": -3}}],
    }
)
CLERK = AgentFile(
    description="Used for depots.",
    prompt={"en": "You help with depots. $5 is a price."},
    tools=("current_time", "list_todos", "add_todos"),
    mocks=(WEATHER, Mock(tool="current_time", outcomes=(MockOutcome(text="Half past never"),))),
    examples={"en": ["I need the depot"]},
)


@pytest.fixture
def workshop(settings: Settings) -> Workshop:
    """Return the agents of somebody."""
    return Workshop(lab_folder(), "ann")


async def test_an_agent_is_tried_in_private(settings: Settings, workshop: Workshop) -> None:
    """Its maker talks to it, with real and with mocked tools; nobody else has it, and its talk stays in the lab."""
    workshop.save("depot_clerk", CLERK)
    assert "depot_clerk" not in dialogs_of()
    async with workshop.trial(settings, "depot_clerk") as assistant:
        entered = await play(assistant, "I need the depot")
        cold = await play(assistant, "how cold is it at the depot")
    assert entered.holder == "depot_clerk"
    assert 'depot_clerk.depot_weather() = {"degrees":-3}' in cold.trace
    assert "depot_clerk.depot_weather is mocked" in cold.trace
    async with open_assistant(settings) as assistant:
        assert await assistant.threads() == []
        assert "depot_clerk" not in assistant.dialogs


def test_versions_and_their_differences(workshop: Workshop) -> None:
    """Each save is a version. The lines in which two versions differ are shown, and an earlier version can be read."""
    workshop.save("depot_clerk", CLERK)
    workshop.save("depot_clerk", CLERK.model_copy(update={"tools": ("list_todos",)}))
    assert workshop.versions("depot_clerk") == [2, 1]
    assert "-- add_todos" in workshop.changes("depot_clerk", 1, 2)
    assert workshop.read("depot_clerk", 1).tools == CLERK.tools
    with pytest.raises(UsageError):
        workshop.read("depot_clerk", 3)


def kept_of_the_clerk(settings: Settings) -> list[Path]:
    """Return all paths in the lab's folder that name the agent."""
    return [path for path in lab_folder().root.rglob("*") if "depot_clerk" in str(path)]


async def test_nothing_is_left_of_a_deleted_agent(settings: Settings, workshop: Workshop) -> None:
    """Its file, its versions, its trial talks and what is shared of it are deleted."""
    workshop.save("depot_clerk", CLERK)
    workshop.share("depot_clerk")
    async with workshop.trial(settings, "depot_clerk") as assistant:
        await play(assistant, "hello")
    assert "lab.db" in [path.name for path in kept_of_the_clerk(settings)]
    workshop.delete("depot_clerk")
    assert kept_of_the_clerk(settings) == []
    with pytest.raises(UsageError):
        workshop.delete("depot_clerk")


def test_what_is_refused(settings: Settings, workshop: Workshop) -> None:
    """A name of a dialog, a name that is none, unknown tools and observers, and another maker's shared agent."""
    for name, wrong in (("planner", UsageError), ("../x", UsageError), ("Clerk", UsageError), ("class x", UsageError)):
        with pytest.raises(wrong):
            workshop.save(name, CLERK)
    for change in ({"tools": ("no_tool",)}, {"observers": ("nobody",)}):
        with pytest.raises(ContractError):
            workshop.save("clerk", CLERK.model_copy(update=change))
    workshop.save("clerk", CLERK)
    workshop.share("clerk")
    other = Workshop(lab_folder(), "bob")
    assert other.names() == []
    other.save("clerk", CLERK)
    for act in (other.share, other.unshare):
        with pytest.raises(UsageError):
            act("clerk")
    other.delete("clerk")
    assert workshop.is_shared("clerk")
    with pytest.raises(UsageError):
        Workshop(lab_folder(), "../bob")


def test_a_form_becomes_an_agent() -> None:
    """Ticked tools and observers, prompts by language, examples a line each; a wrong field is named."""
    pairs = [
        ("description", "depots"),
        ("prompt.en", "You help."),
        ("prompt.ru", "Ты помогаешь."),
        ("tools[]", "a_tool"),
        ("tools[]", "b_tool"),
        ("observers[]", "finished"),
        ("examples.en:lines", "one\n\n two  words"),
        ("parameters.temperature", "0.5"),
        ("resume", "never"),
    ]
    agent = agent_of(form_data(pairs), [WEATHER])
    assert (agent.description, agent.tools, agent.observers) == ("Used for depots", ("a_tool", "b_tool"), ("finished",))
    assert (agent.examples, agent.parameters.temperature) == ({"en": ["one", "two words"]}, 0.5)
    unticked = agent_of(form_data(pairs[:4]), [])
    assert unticked.observers == ()
    for wrong in (("parameters.temperature", "hot"), ("resume", "later"), ("tools[]", "A tool"), ("prompt.en", "")):
        with pytest.raises(UsageError):
            agent_of(form_data([*((name, value) for name, value in pairs if name != wrong[0]), wrong]), [])


async def test_a_trial_takes_the_new_version(settings: Settings, workshop: Workshop) -> None:
    """A saved agent is opened anew with the next request, and the talk goes on; old trials are closed."""
    trials = OpenTalks[Assistant]()

    async def trial_of(version: int) -> Assistant:
        opened = workshop.trial(settings, "clerk")
        return await trials.of("clerk", lambda stack: stack.enter_async_context(opened), version)

    workshop.save("clerk", CLERK)
    first = await trial_of(1)
    await play(first, "I need the depot")
    assert await trial_of(1) is first
    workshop.save("clerk", CLERK.model_copy(update={"tools": ("list_todos",)}))
    second = await trial_of(2)
    assert "add_todos" not in [tool.name for tool in second.speakers.dialogs["clerk"].tools]
    assert (await second.state("lab") or {})["dialog"] == "clerk"
    await trials.close()


@pytest.mark.parametrize("name", ["supervisor", "observer", "default", "fallback", *sorted(STEPS), *shipped("plugins")])
def test_no_agent_takes_a_name_of_the_settings(workshop: Workshop, name: str) -> None:
    """It would speak for everybody, stand in a plug-in's place, or end every start."""
    with pytest.raises(UsageError, match="is taken"):
        workshop.save(name, CLERK)


@pytest.mark.parametrize("part", [AgentFile, LabVariant])
@pytest.mark.parametrize("own", [{"base_url": "http://127.0.0.1:1/v1"}, {"slot": 1}, {"window": 4096}, {"slots": 1}])
def test_an_address_belongs_to_the_settings(part: type[FilePart], own: dict[str, object]) -> None:
    """A user of the lab alone names no address of a model, and nothing of its server."""
    file = CLERK.model_dump(exclude_unset=True) if part is AgentFile else {}
    with pytest.raises(ValidationError, match=f"only the settings say {next(iter(own))}"):
        part.model_validate({**file, "parameters": own})
    assert part.model_validate({**file, "parameters": {"temperature": 1}})
