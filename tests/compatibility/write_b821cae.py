"""Write the databases of `tests/compatibility/b821cae/` with the code of commit b821cae.

How they were made, from the root of a checkout of that commit, with its requirements installed:

    python path/to/write_b821cae.py path/to/tests/compatibility/b821cae

- `script.db.gz`: threads whose models play a script, so that their content is known to the word.
- `rules.db.gz`: threads in English and Russian with the model `local:rules`.
- `script.json`, `rules.json`: what that commit tells of each thread: its state, its history and its recorded turns.

The clock of reminders stands at `NOW`. The rows of the log are folded into the files, which are vacuumed.
The modules are imported by name at run time: they are those of that commit, and stand elsewhere today.
"""

import asyncio
import gzip
import json
import os
import sqlite3
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
SCRIPTED = ("middle", "paused", "choice", "form", "returned", "reminders", "profile", "killed")
RULES = {
    "rules-en": (
        "Let's get acquainted",
        "I am a nurse",
        "remind me in 20 minutes to turn off the oven",
        "set a timer for 10 minutes",
        "add milk, bread and eggs to my list",
    ),
    "rules-ru": (
        "Давай познакомимся",
        "Я врач",
        "добавь молоко, хлеб и яйца в список",
        "напомни завтра в 9 позвонить маме",
    ),
}


async def script(path: Path) -> None:
    """Play the threads whose models follow a script."""
    tests, models = import_module("tests.conftest"), import_module("agents.models.script")
    shop, call = import_module("tests.shop"), models.Call
    chat = tests.Chat(path)
    chat.now = NOW.timestamp
    plain = chat.speakers
    meet = call("get_acquainted", {"brief": "wants to get acquainted"})
    plan = call("plan_things", {"brief": "to-dos and reminders"})
    nurse: list[Any] = [call("fill_form", {"experience": "nurse"})]

    chat.expects(
        supervisor=[plan], planner=[call("add_todos", {"items": ["milk", "bread"]}), "Milk and bread are on it."]
    )
    await chat.says("Put milk and bread on my list", thread="middle")

    profile = replace(plain.dialogs["profile"], resume="ask")
    chat.speakers = type(plain)(plain.supervisor, {**plain.dialogs, "profile": profile})
    chat.expects(
        supervisor=[meet, "It is ten."],
        profile=["What do you do?", nurse, "What are you good at?"],
        observer=["current_time"],
    )
    await chat.says("Let's get acquainted", "A nurse", "How late has it become?", thread="paused")

    chat.speakers = shop.with_shop(plain)
    chat.expects(supervisor=shop.BEGIN, planner=[call("choose_order")])
    await chat.says("I want to send something back", thread="choice")
    chat.expects(supervisor=shop.BEGIN, planner=[call("ask_address")])
    await chat.says("Fetch a parcel", "street: Long Lane 5", thread="form")
    hat = {"order": shop.HAT, "reason": "too small"}
    chat.expects(supervisor=shop.BEGIN, planner=[call("submit_return", hat), "It is on its way."])
    await chat.says("Send the hat back", thread="returned", id="send-back")

    chat.speakers = plain
    reminders = [("in 20 minutes", "tea"), ("every day at 18:00", "feed the cat"), ("in 10 minutes", None)]
    calls = [call("add_reminder", {"when": when, **({"text": text} if text else {})}) for when, text in reminders]
    todos = call("add_todos", {"items": ["call Bob", "water the plants"]})
    done = call("change_todo", {"number": 1, "done": True})
    zone = call("set_time_zone", {"zone": "Europe/Berlin"})
    chat.expects(supervisor=[plan], planner=[[zone], [*calls, todos], [done], "All set."])
    await chat.says("Remind me of tea, the cat, a timer, Bob and the plants", thread="reminders")

    chat.expects(
        supervisor=[meet],
        profile=["What do you do?", nurse, "Your skills?", [call("fill_form", {"skills": ["first aid"]})], "Noted."],
        observer=["stay"] * 2,
    )
    await chat.says("Let's get acquainted", "A nurse", "First aid", thread="profile")


async def killed(path: Path) -> None:
    """Die in a turn: the tool has run, the model has not spoken of it."""
    call = import_module("agents.models.script").Call
    chat = import_module("tests.conftest").Chat(path)
    plan = call("plan_things", {"brief": "to-dos"})
    chat.expects(supervisor=[plan], planner=[[call("add_todos", {"items": ["sugar"]})], "never"])
    take = chat.script.next_line

    def next_line(role: str, messages: Any) -> Any:
        line = take(role, messages)
        if line == "never":
            os._exit(0)
        return line

    chat.script.next_line = next_line
    await chat.says("Put sugar on my list", thread="killed", id="cut-off")
    raise AssertionError("it should be dead by now")


async def rules(path: Path) -> None:
    """Talk to the model that needs no key."""
    composition, assistant = import_module("app.composition"), import_module("app.assistant")
    settings = import_module("app.settings").Settings(
        _env_file=None, database_url=f"sqlite:///{path}", llm_model="local:rules"
    )
    async with composition.open_assistant(settings) as opened:
        opened.memory.reminders.now = NOW.timestamp
        for thread, texts in RULES.items():
            for text in texts:
                async for _ in opened.play(assistant.Turn(thread=thread, text=text, lang=thread[-2:])):
                    pass


async def told(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what the application tells of each thread."""
    chat = import_module("tests.conftest").Chat(path)
    threads = {}
    async with chat.assistant() as assistant:
        for name in names:
            threads[name] = {
                "state": await assistant.state(name),
                "history": [asdict(line) for line in await assistant.history(name)],
                "records": [[turn.text, turn.lang, turn.status] for turn in await assistant.records(name)],
            }
    return threads


def main(folder: Path) -> None:
    """Write the databases and what is known of them into the folder."""
    sys.path.insert(0, str(Path.cwd()))
    os.environ["TZ"] = "UTC"
    for name, names, *parts in (("script", SCRIPTED, script, killed), ("rules", tuple(RULES), rules)):
        path = folder / f"{name}.db"
        path.unlink(missing_ok=True)
        for part in parts:
            if (child := os.fork()) == 0:
                asyncio.run(part(path))
                os._exit(0)
            os.waitpid(child, 0)
        threads = asyncio.run(told(path, names))
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("VACUUM")
        (folder / f"{name}.json").write_text(json.dumps(threads, ensure_ascii=False, indent=1, default=str) + "\n")
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        for file in (path, path.with_name(f"{path.name}.lock")):
            file.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
