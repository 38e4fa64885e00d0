"""What is deployed: the files name what exists, and LangGraph's server finds a graph that talks."""

import json
import re
import runpy
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agents.errors import ConfigError, UsageError
from app import cli
from app.studio import ChatGraph
from app.upkeep import USAGE

ROOT = Path(__file__).parent.parent
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


def read(name: str) -> str:
    """Return a file of the repository."""
    return (ROOT / name).read_text("utf-8")


def instructions(name: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments, continued lines joined."""
    plain = "\n".join(line for line in read(name).splitlines() if not line.startswith("#"))
    for line in plain.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of the Dockerfile by stage."""
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions("Dockerfile"):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def commands() -> set[str]:
    """Return the commands of the command line."""
    (actions,) = (action for action in cli._parser()._actions if action.choices)
    return set(cast(Any, actions.choices))


def test_the_image_copies_what_exists() -> None:
    """Every COPY names a path of the repository or of the stage before, and `.dockerignore` lets it in."""
    let_in = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    built = {rest.split()[-1] for word, rest in stages()[0] if word == "RUN" and "-m venv" in rest}
    copied = [rest.split() for stage in stages() for word, rest in stage if word == "COPY"]
    for *sources, _ in copied:
        if sources[0].startswith("--from="):
            assert set(sources[1:]) <= built
        else:
            assert all((ROOT / source).exists() for source in sources)
            assert set(sources) <= let_in
    assert {source for *sources, _ in copied for source in sources} >= set(packages())


def packages() -> list[str]:
    """Return the packages of the application."""
    return list(tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["root_packages"])


def test_the_image_is_small_and_has_no_root() -> None:
    """Two stages of the Python that the project needs; the last switches to a user before it runs a known command."""
    first, last = stages()
    wanted = tomllib.loads(read("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    assert first[0][1].startswith(f"python:{wanted}-slim AS ")
    assert last[0][1] == f"python:{wanted}-slim"
    words = [word for word, _ in last]
    assert words.index("USER") < words.index("CMD")
    assert "RUN" not in words[words.index("USER") :]
    assert not any(word == "ENV" and ("KEY" in rest or "TOKEN" in rest) for stage in stages() for word, rest in stage)
    python, module, app, command = json.loads(last[-1][1])
    assert (python, module, app) == ("python", "-m", "app")
    assert command in commands()


def test_the_composition_keeps_the_data() -> None:
    """The database lies in a volume that the composition declares and the image prepares."""
    text = read("compose.yaml")
    (volume, folder) = re.search(r"- (\w+):(/\w+)\n", text).groups()  # type: ignore[union-attr]
    assert re.search(rf"^volumes:\n  {volume}:", text, re.MULTILINE)
    assert f"DATABASE_URL: sqlite:///{folder}/" in text
    assert ("VOLUME", folder) in stages()[1]
    assert f"DATABASE_URL=sqlite:///{folder}/" in read("Dockerfile")


def test_the_unit_runs_a_command_there_is() -> None:
    """Started in its folder, as a user of its own; its exit codes are the command line's."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    unit.read_string(read("docs/deploy/dialog-supervisor.service"))
    service = unit["Service"]
    *python, command = service["ExecStart"].split()
    assert python == [f"{service['WorkingDirectory']}/.venv/bin/python", "-m", "app"]
    assert command in commands()
    assert int(service["SuccessExitStatus"]) == cli.TERMINATED
    assert int(service["RestartPreventExitStatus"]) == USAGE
    assert service["User"] != "root"
    assert f"/var/lib/{service['StateDirectory']}/" in read("docs/deploy/dialog-supervisor.service")


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatGraph:
    """The graph that `langgraph.json` names, loaded from its file as the server does, with what the server brings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MODEL", "local:rules")
    monkeypatch.setenv("APP_LANG", "en")
    (named,) = json.loads(read("langgraph.json"))["graphs"].values()
    path, _, name = named.partition(":")
    made: ChatGraph = runpy.run_path(str(ROOT / path), run_name="loaded")[name]()
    return made.copy(update={"checkpointer": InMemorySaver(), "store": InMemoryStore()})


async def talk(graph: ChatGraph, text: str | None) -> list[tuple[str | None, str]]:
    """Say something and return who answered what."""
    messages = [HumanMessage(text)] if text else []
    outcome = await graph.ainvoke(cast(Any, {"messages": messages}), CONFIG)
    count = next((place for place, one in enumerate(reversed(outcome["messages"])) if one.type == "human"), None)
    new = outcome["messages"] if count is None else outcome["messages"][len(outcome["messages"]) - count :]
    return [(message.name, message.text) for message in new]


async def test_studio_can_talk(graph: ChatGraph) -> None:
    """The assistant speaks first, a dialog takes over and keeps the conversation and its language, turn after turn."""
    assert (await talk(graph, None))[0][1].startswith("Hello!")
    assert (await talk(graph, "давай познакомимся"))[0][0] == "profile"
    ((speaker, text),) = await talk(graph, "я медсестра")
    assert speaker == "profile"
    assert text.startswith("Записано: опыт — медсестра")
    assert [speaker for speaker, _ in await talk(graph, "добавь в список молоко")] == ["planner"]
    assert "молоко" in (await talk(graph, "покажи мой список"))[0][1]


async def test_studio_promises_no_reminder(graph: ChatGraph) -> None:
    """Nothing rings there, so the user is told instead; to-dos and the time zone work, and nothing breaks."""
    for text in (
        "remind me of the tea in 20 minutes",
        "show my reminders",
        "delete reminder 1",
        "set a timer for 5 min",
    ):
        said = " ".join(text for _, text in await talk(graph, text))
        assert "Nothing can ring here" in said, said
    assert "milk" in (await talk(graph, "add milk to my list"))[0][1]
    assert "Europe/Berlin" in (await talk(graph, "my time zone is Europe/Berlin"))[0][1]


async def test_studio_shows_the_drawing(graph: ChatGraph) -> None:
    """The nodes of the conversation can be seen from outside."""
    assert "planner.tools" in graph.get_graph(xray=True).draw_mermaid().replace("\\2e", ".")


async def test_studio_needs_a_store(graph: ChatGraph) -> None:
    """Without a place for what is known of a person it says so."""
    with pytest.raises(UsageError, match="store"):
        await talk(graph.copy(update={"store": None}), "hi")


def test_settings_are_read_when_the_graph_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the file does nothing; a wrong setting is told by the factory."""
    monkeypatch.setenv("LLM_MODEL", "nonsense")
    loaded = runpy.run_path(str(ROOT / "app/studio.py"), run_name="loaded")
    with pytest.raises(ConfigError, match="nonsense"):
        loaded["make_graph"]()
