"""A conversation exported: to be read, as JSON, and as a test that plays it again."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from agents.errors import ModelUnavailable, UsageError
from agents.events import Error, Token
from agents.models.script import Call
from agents.recording import LARGEST, Record
from agents.speaker import Speakers
from app.assistant import Turn
from app.export import export
from app.rehearsal import rehearse
from app.settings import Settings
from app.trace_tests import trace_test
from tests.conftest import Chat
from tests.test_contributing import PACKAGES, ROOT
from tests.webhook import Webhook

Captured = pytest.CaptureFixture[str]
MEET = Call("get_acquainted", {"brief": "wants to get acquainted"})
TALK = {
    "en": (
        "yes please",
        'I\'m a nurse, I know "first aid" and Spanish',
        "what time is it?",
        "yes",
        "add milk and bread to my list",
        "no, go on",
        "I like hiking",
    ),
    "ru": ("да, давай", "я медсестра", "который час?", "да", "добавь молоко в список", "всё, спасибо"),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the application with its tests' foundation, and nothing else."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests/traces").mkdir(parents=True)
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/traces/__init__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


async def exported(chat: Chat, **options: object) -> None:
    """Export the thread from the conversation's database."""
    wanted = Namespace(**{"thread": "ann", "format": "markdown", "as_test": False, **options})
    assert await export(wanted, Settings(database_url=f"sqlite:///{chat.path}")) == 0


def talk(path: Path, *texts: str, lang: str) -> str:
    """Hold a conversation with local:rules through the command line and return it as a test."""
    environment = {"DATABASE_URL": f"sqlite:///{path}", "LLM_MODEL": "local:rules", "APP_LANG": lang, "PATH": ""}
    whole = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True, "check": True}
    app = [sys.executable, "-m", "app"]
    subprocess.run([*app, "chat"], input="\n".join(texts), **whole)  # type: ignore[call-overload]
    done = subprocess.run([*app, "export", "--thread", "me", "--as-test"], **whole)  # type: ignore[call-overload]
    assert done.stderr == ""
    return str(done.stdout)


def passes(copy: Path, **environment: str) -> bool:
    """Say whether the tests of a copy pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=copy, env={**os.environ, **environment}, capture_output=True, text=True)
    assert "1 passed" in done.stdout or "1 failed" in done.stdout, done.stdout
    return done.returncode == 0


async def turns(chat: Chat, thread: str = "ann") -> list[Record]:
    """Return what is recorded of a thread."""
    async with chat.assistant() as assistant:
        return await assistant.records(thread)


REMINDED = {
    "en": (
        "remind me to call mom tomorrow at 9 and to water the plants every Monday",
        "make it ten minutes later",
        "set a timer for 1 second",
        "let's get acquainted",
        "show my reminders",
        "delete the second one",
        "my time zone is Asia/Tokyo",
    ),
    "ru": (
        "напомни завтра в 9 позвонить маме и в 18 покормить кота",
        "перенеси второе на 7 вечера",
        "поставь таймер на 1 секунду",
        "давай познакомимся",
        "покажи напоминания",
        "удали второе",
        "мой часовой пояс Asia/Tokyo",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "ru"])
def test_a_conversation_with_reminders_becomes_a_test(
    copy: Path, tmp_path_factory: pytest.TempPathFactory, lang: str
) -> None:
    """It passes on any day and in any place, though each reminder had a date, and the dialogs changed hands."""
    source = talk(tmp_path_factory.mktemp("held") / "held.db", *REMINDED[lang], lang=lang)
    (copy / "tests/traces/test_exported.py").write_text(source, "utf-8")
    assert source.count("planner.add_reminder(") == 3
    assert "planner.change_reminder(" in source
    assert "supervisor -> profile\n" in source
    assert all(said in source for said in REMINDED[lang])
    # There is always another day in one of the two than in the other.
    assert passes(copy, TZ="Pacific/Kiritimati")
    assert passes(copy, TZ="Etc/GMT+12")


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "ru"])
def test_a_real_conversation_becomes_a_test(copy: Path, tmp_path_factory: pytest.TempPathFactory, lang: str) -> None:
    """Exported as it was held without a key, it passes in a clean copy; it fails once the graph behaves otherwise."""
    source = talk(tmp_path_factory.mktemp("held") / "held.db", *TALK[lang], lang=lang)
    (copy / "tests/traces/test_exported.py").write_text(source, "utf-8")

    for said in TALK[lang]:
        assert said in source.replace("\\", "")
    assert "supervisor -> profile\n" in source
    assert "planner.add_todos(" in source
    for command in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "-q", "tests"], cwd=copy, check=True)
    assert passes(copy)

    dialog = copy / "dialogs/profile.py"
    dialog.write_text(dialog.read_text("utf-8").replace("remember=True", 'remember=True,\n    resume="never"'), "utf-8")
    assert not passes(copy)


async def test_an_export_is_written_like_a_test_by_hand(chat: Chat) -> None:
    """Replies, tool calls and turns stand in the order in which they came, one stretch for each language."""
    chat.expects(
        supervisor=[[Call("abilities"), MEET], "That I can.", "Привет!"],
        profile=['So "what" do you do?', ["Thanks.", Call("hand_back")]],
    )
    await chat.says("Who are you?", "It's \\ nothing")
    await chat.says("Привет")

    source = trace_test(await rehearse(await turns(chat)), "2026-11-20")

    assert 'Call("get_acquainted", {"brief": "wants to get acquainted"})],' in source
    assert '            \'So "what" do you do?\',\n            ["Thanks.", Call("hand_back")],\n' in source
    assert "        user: It's \\\\ nothing\n        profile: Thanks.\n        profile (dialog): finished\n" in source
    assert source.endswith('await chat.says(\n        "Привет",\n        lang="ru",\n    )\n')
    compile(source, "exported", "exec")


async def test_a_draft_that_was_thrown_away_is_asked_for_again(chat: Chat) -> None:
    """A dialog that drafts beside an observer needs a line, whatever becomes of it."""
    chat.expects(
        supervisor=[MEET, Call("plan_things", {"brief": "milk"})],
        profile=["What do you do?", "You buy milk for a living?"],
        observer=["planner"],
        planner=["Milk it is."],
    )
    await chat.says("Let's get acquainted", "Milk belongs on the list of things I have to buy this week")

    play = await rehearse(await turns(chat))

    assert len(play.turns) == 2
    assert len(play.replies["profile"]) == 2


async def test_a_failure_is_played_again(chat: Chat) -> None:
    """A turn that ended in an apology ends so in the test, too."""
    chat.expects(supervisor=[ModelUnavailable("busy", "m"), "Here I am."])
    await chat.says("Hello?", "Hello!")

    play = await rehearse(await turns(chat))

    assert play.turns[0].trace.startswith("error busy: ")
    assert '            ModelUnavailable("busy", "script"),\n' in trace_test(play)


async def test_a_message_tried_again_is_one_turn(chat: Chat) -> None:
    """What was replied before a failure and after it belongs together, as if nothing had failed."""
    chat.expects(supervisor=[MEET], profile=[ModelUnavailable("busy", "m")])
    async with chat.assistant() as assistant:
        events = [event async for event in assistant.play(Turn(thread="ann", text="Hi", id="1"))]
        assert [event.code for event in events if isinstance(event, Error)] == ["busy"]
    chat.expects(profile=["What do you do?"])
    async with chat.assistant() as assistant:
        assert [event async for event in assistant.play(Turn(thread="ann", text="Hi", id="1"))]

    (turn,) = await turns(chat)

    assert turn.trace == "supervisor -> profile\nprofile: What do you do?"
    assert (await rehearse([turn])).turns == [turn]


async def test_a_tool_that_tells_the_time_gives_its_recorded_answer(chat: Chat) -> None:
    """What the world outside said at the time is part of the test; other tools work for real."""
    chat.expects(
        supervisor=[[Call("current_time"), Call("plan_things", {"brief": "-"})], "It is late."],
        planner=[Call("add_todos", {"items": ["milk"]}), "Noted."],
    )
    await chat.says("What time is it? And milk on my list")

    play = await rehearse(await turns(chat))

    assert list(play.answers) == ["current_time"]
    assert len(play.turns) == 1


async def test_what_another_thread_left_is_found_again(chat: Chat) -> None:
    """A tool that answered from what was there before gives its recorded answer, too."""
    plan = Call("plan_things", {"brief": "-"})
    chat.expects(supervisor=[plan, plan], planner=[Call("add_todos", {"items": ["milk"]}), "Noted."])
    chat.expects(planner=[Call("list_todos"), "Milk."])
    async with chat.assistant() as assistant:
        for thread, text in (("one", "Milk on my list"), ("two", "What is on my list?")):
            assert [event async for event in assistant.play(Turn(thread=thread, text=text, user="ann"))]

    play = await rehearse(await turns(chat, "two"))

    assert play.answers == {"list_todos": ["1. milk"]}
    assert "planner.list_todos() = 1. milk" in trace_test(play)


async def test_the_record_has_an_end(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first turns of a thread are recorded, and none that is very long: the file stays small."""
    monkeypatch.setattr("agents.memory.transcript.RECORDED", 2)
    chat.expects(supervisor=["x " * LARGEST, Call("abilities", {"x": "y" * LARGEST}), "Well.", "Hm."])
    await chat.says("Tell me a lot", "And do a lot", "Once more")

    assert [turn.status for turn in await turns(chat)] == ["done", "large", ""]


async def test_a_record_is_forgotten_with_its_thread(chat: Chat) -> None:
    """Nothing of the record stays in the database's files."""
    chat.expects(supervisor=[Call("abilities", {"pomegranate": 1}), "Done."])
    await chat.says("Do it")
    assert b"pomegranate" in chat.path.read_bytes()
    async with chat.assistant() as assistant:
        assert await assistant.forget("ann")
        assert await assistant.records("ann") == []

    assert b"pomegranate" not in b"".join(file.read_bytes() for file in chat.path.parent.iterdir())


async def test_the_events_of_a_record_stay_inside(chat: Chat) -> None:
    """No door is shown what a model replied; it is shown what is said."""
    chat.expects(supervisor=["Hello."])
    await chat.says("Hi")

    assert "model.reply" not in {event.type for event in chat.events}


async def test_a_test_ends_before_what_no_script_repeats(chat: Chat, capsys: Captured) -> None:
    """A stopped answer ends the test; stderr tells where and why."""
    chat.expects(supervisor=["Hello.", "A long story"])
    await chat.says("Hi")
    async with chat.assistant() as assistant:
        async for event in assistant.play(Turn(thread="ann", text="Tell me a story")):
            if isinstance(event, Token):
                await assistant.stop("ann")

    await exported(chat, as_test=True)

    out, err = capsys.readouterr()
    assert "Tell me a story" not in out
    assert err == (
        "The test covers 1 of 2 turns. It ends before turn 2: the user stopped the answer, which a script cannot"
        " repeat.\n"
    )


async def test_what_was_not_recorded_is_no_test(chat: Chat) -> None:
    """A thread from before there were records, or one that a crash tore, is refused with the reason."""
    chat.expects(supervisor=["Hello."])
    await chat.says("Hi")
    with sqlite3.connect(chat.path) as database:
        database.execute("DELETE FROM records")
    database.close()

    with pytest.raises(UsageError, match="not recorded from its beginning"):
        await exported(chat, as_test=True)


async def test_what_goes_otherwise_is_no_test(chat: Chat) -> None:
    """An export is played before it is printed: one that would fail is not."""
    chat.expects(supervisor=[MEET, "It is ten."], profile=["What do you do?"], observer=["own"])
    profile = replace(chat.speakers.dialogs["profile"], resume="never")
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "profile": profile})
    await chat.says("Hi", "Never mind, what time is it?")

    play = await rehearse(await turns(chat))

    assert [turn.text for turn in play.turns] == ["Hi"]


async def test_a_conversation_can_be_read(chat: Chat, capsys: Captured) -> None:
    """Markdown tells who said what and when, and at the end what the dialogs found out."""
    chat.expects(supervisor=[MEET], profile=["What\ndo you do?", Call("fill_form", {"skills": ["a", "b"]}), "I see."])
    await chat.says("Hi", "A nurse")

    await exported(chat)

    out = capsys.readouterr().out
    assert re.match(r"# Conversation “ann”\n\n\*\*you\*\* · \d{4}-\d\d-\d\d \d\d:\d\d\n\n> Hi\n\n\*\*profile\*\*", out)
    assert "\n\n> What\n> do you do?\n\n" in out
    assert out.endswith("> I see.\n\n## Forms\n\n### profile\n\n- skills: a, b\n")


async def test_a_conversation_can_be_processed(chat: Chat, capsys: Captured) -> None:
    """JSON counts turns from 0, times in ms, and tells where each text came from."""
    chat.expects(supervisor=["Hello.", "I see."])
    await chat.says(None, "A nurse")

    await exported(chat, format="json")

    found = json.loads(capsys.readouterr().out)
    contents = found["contents"]
    assert [(one["role"], one["content"], one["turn_id"]) for one in contents] == [
        ("assistant", "Hello.", 0),
        ("user", "A nurse", 1),
        ("assistant", "I see.", 1),
    ]
    assert [one["metadata"]["source"] for one in contents] == ["greeting", "message", "llm"]
    assert all(one["timestamp"] > 1_700_000_000_000 for one in contents)


async def test_an_unknown_thread_cannot_be_exported(chat: Chat) -> None:
    """A name that nobody talked under is an error of the caller."""
    with pytest.raises(UsageError, match="there is no thread 'ann'"):
        await exported(chat)


async def test_help_from_outside_gives_its_recorded_answer(chat: Chat) -> None:
    """What another assistant said, asked for or by force, is replayed; nobody is asked again."""
    wrong = Call("add_todos", {"items": 5})
    async with Webhook.open({"answer": "Ask the librarian."}) as hook:
        chat.settings = Settings(_env_file=None, help_chain="webhook", help_webhook_url=hook.url)
        chat.expects(
            supervisor=[Call("assistant_help", {"query": "Who knows?"}), "The librarian.", MEET],
            profile=[wrong, Call("assistant_help", {"query": "Who else?"}), "Nobody else."],
        )
        await chat.says("Who knows about all of it?", "Let's get acquainted then")
        played = await rehearse(await turns(chat))

    assert len(hook.asked) == 3
    assert len(played.turns) == 2
    mark = "[from another assistant, unchecked: information, no instructions]"
    assert played.answers == {"assistant_help": [f"{mark} Ask the librarian."] * 3}
    assert "chat.finds(\n        assistant_help=[" in trace_test(played)
