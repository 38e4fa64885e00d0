"""The tables of what people say, with a model that makes the calls a language model makes for them.

What a row writes is turned into tool calls by rules of this file and by the words of `said.toml`, so that the tools
are tried alone. `calls.txt` has rows with calls of their own: `text => what it writes <= tool {arguments} | …`.

`python -m tests.support.standin_calls` says every row and prints how many wrote what they name.
"""

import asyncio
import json
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from agents.models.script import Call, Line, Script
from tests.support.standin_table import NOW, TABLES, TODOS, Outcome, Row, rows, standin

WRITING = ("one", "corrections", "several")
TIME_IS_UP = {"en": "Time is up", "ru": "Время вышло"}
YES = {"en": "yes", "ru": "да"}
FIELDS = {"name": str, "home": str, "experience": str, "skills": list, "interests": list, "work": str}
OWNERS = {"change_language": "supervisor", "fill_form": "profile"}
"""The speaker of each tool that is not the planner's."""
ENTRIES = {"planner": "plan_things", "profile": "get_acquainted"}
_CHANGED = re.compile(r"(?P<old>.*?): (?P<new>.*)")
_REMINDER = re.compile(r"(?P<text>.*) @ (?P<at>[-\d]+ [:\d]+)(?P<again> and again)?")


@dataclass(frozen=True)
class Case:
    """A row, and the calls that write it; they name an entry of a list by its text."""

    row: Row
    calls: tuple[Call, ...]


@dataclass
class Said:
    """The words of one language, used in turn."""

    lang: str
    words: Mapping[str, list[str]]
    turns: Counter[str] = field(default_factory=Counter)

    def next(self, name: str) -> str:
        """Return the next form of a list."""
        self.turns[name] += 1
        return self.words[name][(self.turns[name] - 1) % len(self.words[name])]

    def when(self, at: datetime, *, again: bool) -> str:
        """Return words for a time."""
        days, minutes = (at.date() - NOW.date()).days, (at - NOW).total_seconds() / 60
        names = ("weekly", "daily") if again else ("date", "weekday", "tomorrow", "today", "soon")
        fits = [at - NOW > timedelta(days=1), True] if again else [days > 6, days > 1, days == 1, minutes > 60, True]
        form = self.next(next(name for name, fitting in zip(names, fits, strict=True) if fitting))
        words = {"weekday": self.words["weekdays"], "every": self.words["every"]}
        return form.format(
            time=f"{at.hour}:{at:%M}", half=self._half(at), minutes=round(minutes), day=at.day, iso=f"{at:%Y-%m-%d}",
            month=self.words["months"][at.month - 1], **{name: of[at.weekday()] for name, of in words.items()},
        )  # fmt: skip

    def _half(self, at: datetime) -> str:
        return f"{at.hour % 12 or 12}:{at:%M} {'am' if at.hour < 12 else 'pm'}"


def cases(table: str, lang: str) -> list[Case]:
    """Return the rows of a table with their calls, none twice: repeated ones get other texts and times."""
    words = tomllib.loads((TABLES / lang / "said.toml").read_text("utf-8"))
    forms = Said(lang, {**words, "entries": [*TODOS[lang]]})
    made: dict[tuple[object, ...], Case] = {}
    for row in rows(table, lang):
        case = _case(row, forms)
        for _ in range(50):
            if _key(case) not in made:
                break
            case = _case(_reworded(row, forms), forms)
        made.setdefault(_key(case), case)
    return list(made.values())


def own_cases(lang: str) -> list[Case]:
    """Return the rows of `calls.txt`."""
    return [_own(row) for row in rows("calls", lang)]


def _own(row: Row) -> Case:
    """Read a row with calls of its own, which stand behind the text that it writes."""
    *writes, last = row.writes
    named, _, calls = last.partition("<=")
    parts = (part.strip().partition(" ") for part in calls.split(" | "))
    expected = tuple(filter(None, (*writes, named.strip())))
    return Case(replace(row, writes=expected), tuple(Call(tool, json.loads(args)) for tool, _, args in parts))


def _key(case: Case) -> tuple[object, ...]:
    return case.row.before, *(f"{call.tool} {json.dumps(call.args, sort_keys=True)}" for call in case.calls)


def _reworded(row: Row, forms: Said) -> Row:
    """Return a row with new texts."""
    return replace(row, writes=tuple(_with_text(write, forms) for write in row.writes))


def _with_text(write: str, forms: Said) -> str:
    sign, up = re.match(r"(to-do|reminder) \+ ", write), TIME_IS_UP[forms.lang]
    if named := re.fullmatch(rf"to-do (- )?({'|'.join(TODOS[forms.lang])})(: \2 \(done\))?", write):
        return write.replace(named[2], forms.next("entries"))
    if changed := re.fullmatch(r"(to-do (?P<old>[^:]+): |experience: |work: )(?P<new>[^()]+)", write):
        return write if changed["new"] == changed["old"] else f"{changed[1]}{forms.next('texts')}"
    if sign and (named := _REMINDER.fullmatch(write[sign.end() :])):
        return (
            write
            if named["text"] == up
            else f"{sign[0]}{forms.next('texts')}{write[sign.end() + len(named['text']) :]}"
        )
    return f"{sign[0]}{forms.next('texts')}" if sign else write


def _case(row: Row, forms: Said) -> Case:
    """Turn a row's writes into calls: one for new to-dos, one for the deletions of a list, one for a form."""
    calls: list[Call] = []
    for write in row.writes:
        kind, _, rest = write.partition(" ") if write.startswith(("to-do", "reminder")) else ("", "", write)
        call = {"to-do": _todo, "reminder": _reminder, "": _value}[kind](rest, forms)
        if calls and calls[-1].tool == call.tool and call.tool in ("add_todos", "delete_todos", "fill_form"):
            earlier = dict(calls.pop().args)
            call = Call(
                call.tool, {**earlier, **call.args} if call.tool == "fill_form" else _joined(earlier, call.args)
            )
        calls.append(call)
    return Case(row, tuple(calls))


def _joined(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [*values, *later[name]] for name, values in earlier.items()}


def _todo(rest: str, forms: Said) -> Call:
    if rest.startswith("+ "):
        return Call("add_todos", {"items": [rest[2:]]})
    if rest.startswith("- "):
        return Call("delete_todos", {"numbers": [rest[2:]]})
    changed = _CHANGED.fullmatch(rest)
    assert changed is not None, rest
    old, new = changed["old"].removesuffix(" (done)"), changed["new"].removesuffix(" (done)")
    done = changed["new"].endswith(" (done)")
    marks = {"done": done} if done is not changed["old"].endswith(" (done)") else {}
    return Call("change_todo", {"number": changed["old"], **({"text": new} if new != old else {}), **marks})


def _reminder(rest: str, forms: Said) -> Call:
    if rest.startswith("- "):
        return Call("delete_reminders", {"numbers": [rest[2:]]})
    is_new, up = rest.startswith("+ "), TIME_IS_UP[forms.lang]
    old, new = ("", rest[2:]) if is_new else _CHANGED.fullmatch(rest).groups()  # type: ignore[union-attr]
    named = _REMINDER.fullmatch(new)
    assert named is not None, rest
    at = datetime.strptime(f"{named['at']} +0000", "%Y-%m-%d %H:%M %z")
    when = forms.when(at, again=bool(named["again"]))
    if not is_new:
        text = {"text": named["text"]} if named["text"] != old else {}
        return Call("change_reminder", {"number": old, **text, "when": when})
    if named["text"] != up:
        return Call("add_reminder", {"when": when, "text": named["text"]})
    return Call("add_reminder", {"when": when, "kind": "alarm" if at - NOW > timedelta(hours=2) else "timer"})


def _value(rest: str, forms: Said) -> Call:
    if rest.startswith("memo + "):
        return Call("keep_note", {"note": rest.removeprefix("memo + ")})
    name, _, value = rest.partition(": ")
    if name == "zone":
        return Call("set_time_zone", {"zone": value})
    if name == "lang":
        return Call("change_language", {"language": value})
    return Call("fill_form", {name: value.split(", ") if FIELDS[name] is list else value})


class Calling(Script):
    """Make the calls of a case: go to a tool's speaker, call the tool, and say a word when all is done."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Call] = []

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return this role's waiting calls, else the way to the next call's speaker, else a word."""
        owner = OWNERS.get(self.waiting[0].tool, "planner") if self.waiting else ""
        if role == "observer":
            return owner or "stay"
        if not owner:
            return "Done."
        if owner != role:
            return Call(ENTRIES[owner], {"brief": "-"}) if role == "supervisor" else Call("hand_back", {"wish": "-"})
        calls = [call for call in self.waiting if OWNERS.get(call.tool, "planner") == role]
        self.waiting = [call for call in self.waiting if call not in calls]
        return calls


async def outcomes(path: Path, lang: str, wanted: Sequence[Case]) -> list[Outcome]:
    """Say each case's text to a model that makes its calls; the words before it are said to `local:rules`."""
    script = Calling()
    async with standin(path, script.models(["supervisor", "observer", *ENTRIES])) as room:

        async def call(user: str, text: str) -> str:
            numbers = await room.numbers(user)
            # A tool that has asked goes on by itself.
            is_asked = await room.asked(user) == "interrupt"
            script.waiting = [] if is_asked else [_numbered(call, numbers) for call in case.calls]
            reply = await room.say(user, text, lang, by_model=True)
            if await room.asked(user) == "confirm":
                reply += await room.say(user, YES[lang], lang, by_model=True)
            return reply

        results = []
        for case in wanted:
            results.append(await room.outcome(case.row, lang, call))
        return results


def _numbered(call: Call, numbers: Mapping[str, int]) -> Call:
    """Replace the texts of a list's entries by their numbers."""
    kind = "reminder" if "reminder" in call.tool else "to-do"

    def number(entry: object) -> object:
        return numbers.get(f"{kind} {entry}", entry)

    args: dict[str, Any] = dict(call.args)
    if "number" in args:
        args["number"] = number(args["number"])
    if isinstance(args.get("numbers"), list):
        args["numbers"] = [number(entry) for entry in args["numbers"]]
    return Call(call.tool, args)


async def _report() -> None:
    for lang in YES:
        for table in (*WRITING, "calls"):
            wanted = own_cases(lang) if table == "calls" else cases(table, lang)
            with tempfile.TemporaryDirectory() as folder:
                results = await outcomes(Path(folder) / "said.db", lang, wanted)
            wrong = [outcome for outcome in results if not outcome.is_right]
            sys.stdout.write(f"{lang} {table}: {len(results)} different calls, {len(wrong)} not as named\n")
            for outcome in wrong:
                sys.stdout.write(f"    {outcome.row.text}: {outcome.wrote} | {outcome.row.writes} | {outcome.reply}\n")


if __name__ == "__main__":
    asyncio.run(_report())
