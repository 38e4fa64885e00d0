"""Class-based tools of LangChain, and functions without traits, are tools like any other."""

import threading
from datetime import date
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.prebuilt import InjectedStore
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from agents.errors import ContractError
from agents.toolkit import Answer, Notice, Opaque, Refused, Runtime, result, traits
from agents.toolkit.tool_code import wrapped
from agents.toolkit.traits import UNTRUSTED, traits_of
from app.composition import discover
from app.presentation.tool_card import cards
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")

BEGIN: list[Line] = [Call("plan_things", {"brief": "my parcel"})]
LONG = "7f9c24e8-3b12-4d5a-9c1e-000000000001"


class Parcel(BaseModel):
    """A parcel, by an identifier that no model sees."""

    id: Annotated[str, Opaque("parcel")]
    sent: date = date(2026, 1, 2)


class Word(BaseModel):
    """The search word of a parcel."""

    word: str


@traits(result=Parcel)
class Track(BaseTool):
    """A tool with a blocking `_run` alone."""

    name: str = "track"
    description: str = "Track a parcel."
    args_schema: type[BaseModel] = Word
    threads: list[str] = Field(default_factory=list)

    def _run(self, word: str, config: RunnableConfig) -> Parcel:
        self.threads.append(threading.current_thread().name)
        assert config["configurable"]
        return Parcel(id=LONG)


class Renamed(BaseModel):
    """Parameters with names that pydantic knows otherwise."""

    word: str = Field(alias="searchWord")
    most: int = Field(default=3, alias="mostFound", le=9)


@tool(args_schema=Renamed)
def keep(word: str, most: int, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Keep a word in the store, from a thread of its own."""
    store.put(("words",), word, {"most": most})
    item = store.get(("words",), word)
    return f"{word}: {item and item.value['most']}"


class Send(BaseTool):
    """A tool with an `_arun`, a view and the runtime."""

    name: str = "send"
    description: str = "Send a parcel."
    response_format: str = "content_and_artifact"  # type: ignore[assignment]

    def _run(self, parcel: Annotated[str, Opaque("parcel")], runtime: Runtime) -> Answer:
        raise AssertionError("the other one is run")

    async def _arun(self, parcel: Annotated[str, Opaque("parcel")], runtime: Runtime) -> Answer:
        if not parcel:
            raise Refused("There is none.")
        return result({"user": runtime.context.user, "parcel": parcel}, view=Notice(message="It is sent."))


class Lose(BaseTool):
    """A tool that fails."""

    name: str = "lose"
    description: str = "Lose a parcel."

    def _run(self, how: str) -> str:
        failures = {"told": ToolException("It is lost."), "broken": ValueError("secret"), "end": SystemExit(3)}
        raise failures.get(how, StopIteration())


@tool
def weigh(grams: int) -> dict[str, Any]:
    """Weigh a parcel; a function without traits."""
    return {"kilos": grams / 1000}


TRACK = Track()


@pytest.fixture
def parcels(chat: Chat) -> Chat:
    """Give the planner these tools alone."""
    tools: list[BaseTool] = [TRACK, traits(effect="write", repeatable=True)(Send()), Lose(), weigh]
    chat.speakers = changed(chat.speakers, "planner", tools=tools)
    return chat


def test_traits_stand_above_a_class_or_around_an_instance() -> None:
    """Those of a class are those of each instance, unless it has its own; a class without traits may reach out."""
    assert traits_of(Track()).result is Parcel
    assert traits_of(traits(view="cards")(Track())).view == "cards"
    assert traits_of(Track()).view == ""
    assert traits_of(Lose()) == UNTRUSTED


def test_a_wrapped_class_keeps_what_it_says_of_itself() -> None:
    """Name, description, parameters and how errors are handled are those of the instance."""
    lose = Lose(handle_tool_error="It is lost for ever.", tags=["post"])
    run = wrapped(lose)
    assert (run.name, run.description, run.args) == (lose.name, lose.description, lose.args)
    assert (run.handle_tool_error, run.tags) == ("It is lost for ever.", ["post"])


def test_a_class_based_tool_has_a_card() -> None:
    """It can be reviewed as others can."""
    speakers, _ = discover()
    found = cards(changed(speakers, "planner", tools=[TRACK]), ["en"])
    [card] = [card for card in found if card.name == "track"]
    assert list(card.parameters["properties"]) == ["word"]
    assert card.result["properties"]["id"]["type"] == "integer"


async def test_a_blocking_run_is_off_the_event_loop(parcels: Chat) -> None:
    """The model reads JSON with numbers for identifiers, and may give these to the next tool."""
    TRACK.threads.clear()
    calls = [Call("track", {"word": "shoes"}), Call("send", {"parcel": "1"})]
    parcels.expects(supervisor=BEGIN, planner=[*calls, "Sent."])
    assert await parcels.says("where is it?") == told("""
        user: where is it?
        supervisor -> planner
        planner.track(word='shoes') = {"id":1,"sent":"2026-01-02"}
        planner.send(parcel='1') = {"user":"ann","parcel":"7f9c24e8-3b12-4d5a-9c1e-000000000001"}
        view: notice
        planner: Sent.
    """)
    assert TRACK.threads == ["tool _run"]


@pytest.mark.parametrize("how", ["told", "broken", "end", "stop"])
async def test_what_a_class_raises_ends_no_turn(parcels: Chat, how: str) -> None:
    """The model is told that the tool failed, without the words of an exception that it does not know."""
    parcels.expects(supervisor=BEGIN, planner=[Call("lose", {"how": how}), "Sorry."])
    seen = await parcels.says("lose it")
    assert phrase("tool_failed", "en", tool="lose") in seen
    assert "secret" not in seen


async def test_a_function_without_traits_works(parcels: Chat) -> None:
    """`@tool` alone makes a tool that only reads."""
    parcels.expects(supervisor=BEGIN, planner=[Call("weigh", {"grams": 1500}), "Light."])
    assert '{"kilos":1.5}' in await parcels.says("how heavy is it?")


async def test_parameters_with_aliases_and_a_blocking_store(chat: Chat) -> None:
    """A model is shown the names, and each value arrives; blocking code has the long-term store, too."""
    chat.speakers = changed(chat.speakers, "planner", tools=[keep])
    call = Call("keep", {"word": "box", "most": 5})
    chat.expects(supervisor=BEGIN, planner=[call, "Kept."])
    assert "planner.keep(word='box', most=5) = box: 5\n" in await chat.says("keep it")


def test_traits_below_the_decorator_of_a_tool_are_refused() -> None:
    """They would be lost: the tool is made of the function, and a write would count as a read."""

    def mine() -> str:
        return ""

    with pytest.raises(ContractError, match="write @traits above @tool, not below it: mine"):
        traits(effect="write")(mine)  # type: ignore[type-var]
