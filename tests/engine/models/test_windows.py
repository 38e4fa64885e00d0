"""Windows of 2,048, 4,096 and 8,192 tokens: what fits is offered, what does not says so, and no talk gets stuck."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from agents.conversation.context_window import shortened
from agents.events import Event
from agents.models.window import Window
from agents.state.history import texts
from app.assistant import Assistant, Turn
from app.cli.installation import check
from app.composition import open_assistant
from app.settings import Settings
from tests.support.compiled import discovered
from tests.support.endpoint_talk import errors
from tests.support.scripted_assistant import said
from tests.support.small_window import SmallServer, talker

DIALOGS = tuple(sorted(discovered()[0].dialogs))
AT_2K = tuple(name for name in DIALOGS if name not in ("orders", "planner"))


@asynccontextmanager
async def talking(folder: Path, server: SmallServer, lang: str = "en", **more: Any) -> AsyncIterator[Assistant]:
    """Open the application as it is installed, on this server."""
    async with server.open():
        settings = Settings(
            _env_file=None,
            llm_model="openai:tiny",
            openai_base_url=server.url,
            app_lang=lang,
            database_url=f"sqlite:///{folder / 'window.db'}",
            **more,
        )
        async with open_assistant(settings) as assistant:
            yield assistant


async def says(assistant: Assistant, text: str, thread: str = "t") -> list[Event]:
    """Say something in a thread of its own."""
    return [event async for event in assistant.play(Turn(thread=thread, user="ann", text=text))]


async def talked(folder: Path, server: SmallServer, dialog: str, turns: int, lang: str = "en") -> None:
    """Talk with a dialog for so many turns; every one is answered."""
    async with talking(folder, server, lang) as assistant:
        await says(assistant, dialog)
        for turn in range(turns):
            events = await says(assistant, f"and so on and so forth, for a while and a day, in turn {turn}")
            assert (errors(events), bool(said(events))) == ([], True), (dialog, turn)
    assert server.refused == 0


async def test_a_small_window_is_never_overrun(tmp_path: Path) -> None:
    """Histories are cut to what is left; the server refuses nothing."""
    server = SmallServer(talker, 4096)
    await talked(tmp_path, server, "planner", 8)
    assert max(server.prompts) > 2048
    assert max(body["max_tokens"] for body in server.bodies) == 512


@pytest.mark.slow
@pytest.mark.parametrize("dialog", DIALOGS)
async def test_every_dialog_works_over_40_turns(tmp_path: Path, dialog: str) -> None:
    """At 4,096 tokens, in the language that takes most of them, with tools in between."""
    await talked(tmp_path, SmallServer(talker, 4096), dialog, 40, "ru")


@pytest.mark.needs("orders", "planner")
async def test_what_does_not_fit_says_so_and_is_not_offered(tmp_path: Path) -> None:
    """At 2,048 tokens two dialogs are absent; a wish for one gets an answer without a model, and the talk goes on."""
    server = SmallServer(talker, 2048)
    async with talking(tmp_path, server) as assistant:
        assert tuple(assistant.speakers.dialogs) == AT_2K
        for text in ("planner", "what did I order"):
            [answer] = said(await says(assistant, text))
            assert "is not available" in answer, text
        assert server.prompts == []
        for turn in range(3):
            assert errors(await says(assistant, f"well then, turn {turn}")) == []
        assert server.refused == 0


@pytest.mark.needs("planner")
async def test_a_talk_goes_on_when_the_window_has_shrunk(tmp_path: Path) -> None:
    """A dialog that was begun under a larger window lets go, with a word, and the supervisor answers."""
    async with talking(tmp_path, SmallServer(talker, 8192)) as assistant:
        await says(assistant, "planner")
    async with talking(tmp_path, SmallServer(talker, 2048)) as assistant:
        gone, answer = said(await says(assistant, "well then, turn 1"))
    assert "no longer available" in gone
    assert answer.startswith("That is how it is")


@pytest.mark.needs("planner")
async def test_a_window_is_learnt_from_a_refusal(tmp_path: Path) -> None:
    """A server that tells nothing is believed when it refuses: the same turn is answered, and no later one overruns."""
    server = SmallServer(talker, 4096, tells=False)
    async with talking(tmp_path, server) as assistant:
        await says(assistant, "planner")
        for turn in range(10):
            assert set(errors(await says(assistant, f"{'and so on ' * 30} in turn {turn}"))) <= {"model_retry"}
    assert server.refused == 1


async def test_a_window_can_be_set(tmp_path: Path) -> None:
    """The operator's setting overrides the server's own window."""
    server = SmallServer(talker, 8192)
    async with talking(tmp_path, server, llm_parameters={"default": {"window": 2048}}) as assistant:
        assert tuple(assistant.speakers.dialogs) == AT_2K


async def test_check_names_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a dialog: tokens that it needs, the window, what to do."""
    async with SmallServer(talker, 2048).open() as server:
        monkeypatch.setenv("LLM_MODEL", "openai:tiny")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = await check()
    lines = [line.strip() for line in result.lines if "its model has 2048" in line]
    assert [line.split()[0] for line in lines] == [name for name in DIALOGS if name not in AT_2K]
    assert all("llama-server -c" in line for line in lines)
    assert result.exit_code == 0


def behind(role: str) -> Callable[[list[AnyMessage]], list[AnyMessage]]:
    """Return the function that makes a prompt of a role and a history."""
    return lambda history: [SystemMessage(role), *history]


def test_a_history_is_cut_seldom() -> None:
    """It grows to what there is room for, then half of it stays: most prompts begin like the one before."""
    window, history, cuts = Window(2048), list[AnyMessage](), 0
    for turn in range(60):
        history += [HumanMessage(f"{turn} {'word ' * 20}"), AIMessage("answer " * 20)]
        kept = shortened(history, window, behind("role " * 100), [])
        cuts += len(kept) < len(history)
        history = kept
        assert isinstance(history[0], HumanMessage)
        assert window.tokens(texts(history)) < 2048
    assert 3 <= cuts <= 10


def test_a_long_result_is_cut_and_says_so_but_never_what_the_user_says() -> None:
    """The last message stays whole; the results of its tools are shortened until it fits."""
    call = AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": "1"}])
    result = ToolMessage("data " * 2000, tool_call_id="1")
    words = HumanMessage("word " * 300)
    first, second, third = shortened([words, call, result], Window(2048), behind("role"), [])
    assert (first, second) == (words, call)
    assert third.text.endswith("more characters were left out)")
    assert Window().tokens([words.text, third.text]) < 2048


def test_an_estimate_is_corrected_by_what_was_counted() -> None:
    """Each alphabet has a rate of its own; a short text teaches nothing."""
    window, plain, other = Window(4096), ["word " * 200], ["слово " * 200]
    window.learn(plain, 250)
    assert window.tokens(plain) == pytest.approx(250, abs=1)
    window.learn(other, 900)
    assert window.tokens(other) == pytest.approx(900, abs=1)
    assert window.tokens(plain) == pytest.approx(250, abs=1)
    window.learn(["?"], 99)
    assert window.tokens(plain) == pytest.approx(250, abs=1)


@pytest.mark.parametrize(("asked", "at_once"), [("beside", 2), ("first", 1)])
@pytest.mark.needs("planner")
async def test_a_server_with_one_slot_is_asked_one_thing_at_a_time(tmp_path: Path, asked: str, at_once: int) -> None:
    """Observers come before the dialog if they are asked first; beside it they take a slot of their own."""
    server = SmallServer(talker, 8192, pace=0.05)
    async with talking(tmp_path, server, observers_asked=asked) as assistant:
        await says(assistant, "planner")
        await says(assistant, "Could I have a table for two near the river?")
        before = len(server.bodies)
        await says(assistant, "Is it going to rain in the mountains this weekend?")
    assert server.most_at_once == at_once
    roles = ["dialog" if "tools" in body else "observer" for body in server.bodies[before:]]
    assert sorted(roles) == ["dialog", "observer"]
    assert asked == "beside" or roles == ["observer", "dialog"]


@pytest.mark.needs("planner")
async def test_observers_may_have_a_place_of_their_own(tmp_path: Path) -> None:
    """Another address, asked without the key of the first one, or another slot of the same server."""
    async with SmallServer(talker, 2048).open() as other:
        own = {"base_url": other.url, "slot": 1}
        server = SmallServer(talker, 8192)
        async with talking(
            tmp_path, server, llm_parameters={"observer": own, "default": {"slot": 0}}, openai_api_key="sk-first"
        ) as assistant:
            await says(assistant, "planner")
            await says(assistant, "Is it going to rain in the mountains this weekend?")
    assert {body["id_slot"] for body in server.bodies} == {0}
    assert (server.key, other.key) == ("sk-first", "none")
    assert [body["id_slot"] for body in other.bodies] == [1]
    assert all("tools" not in body for body in other.bodies)
