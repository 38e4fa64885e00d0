"""Write a conversation that can be played again as a trace test, in the style of `tests/engine/traces/`."""

import keyword
from collections.abc import Mapping, Sequence
from itertools import groupby

from agents.errors import UsageError
from agents.models.script import Call, Line
from app.cli.replay import Play, Unavailable
from app.recording.record import Record

WIDTH = 120
HEAD = '''"""A conversation as it was held{when}, to be played again: the models' replies are the script."""

{imports}


async def test_conversation{name}(chat: Chat) -> None:
    """The same replies lead to the same hand-overs, tool calls and answers."""
    chat.as_shipped({setting})
'''
LONG_LINES = "# The texts are as they were said.\n# ruff: noqa: E501\n"


def trace_test(play: Play, day: str = "") -> str:
    """Return the Python source of a test, not yet formatted; `day` is when the talk was held, as 2026-11-20.

    Raises:
        UsageError: a record has a name that cannot stand in Python; nobody here gave it.
    """
    replies = play.replies
    for name in (*replies, *play.strangers, *play.answers):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"the records name {name!r}, which is no name in Python")
    spoken = {type(part) for lines in replies.values() for line in lines for part in _parts(line)}
    imports = ["from agents.errors import ModelUnavailable"] if Unavailable in spoken else []
    imports += ["from agents.models.script import Call"] if Call in spoken else []
    imports.append("from tests.conftest import Chat, told")
    source = HEAD.format(
        when=f" on {day}" if day else "",
        name=f"_of_{day.replace('-', '_')}" if day else "",
        imports="\n".join(imports),
        setting="" if play.direct_switch else "direct_switch=False",
    )
    source += _call("expects", replies)
    if play.strangers:
        source += f"    chat.borrows({', '.join(f'{who}={tools!r}' for who, tools in play.strangers.items())})\n"
    if play.answers:
        source += _call("finds", play.answers)
    source += "".join(_stretch([*turns], lang) for lang, turns in groupby(play.turns, key=lambda turn: turn.lang))
    return LONG_LINES + source if any(len(line) > WIDTH for line in source.splitlines()) else source


def _parts(line: Line) -> Sequence[object]:
    return line if isinstance(line, list) else [line]


def _call(name: str, queues: Mapping[str, Sequence[object]]) -> str:
    """Return a call whose arguments are lists, an entry a line."""
    lines = [f"    chat.{name}("]
    for queue, entries in queues.items():
        lines += [f"        {queue}=[", *(f"            {entry!r}," for entry in entries), "        ],"]
    return "\n".join([*lines, "    )", ""])


def _stretch(turns: Sequence[Record], lang: str) -> str:
    """Return the assertion for turns in one language."""
    lines: list[str] = []
    for turn in turns:
        heard = f"user: {turn.text}" if turn.text is not None else "user says nothing"
        lines += "\n".join(filter(None, [heard, turn.trace])).split("\n")
    shown = "\n".join(f"        {_in_block(line)}" if line.strip() else "" for line in lines)
    arguments = "".join(
        f"        {argument},\n" for argument in [*(repr(turn.text) for turn in turns), f"lang={lang!r}"]
    )
    return f'\n    assert told("""\n{shown}\n    """) == await chat.says(\n{arguments}    )\n'


def _in_block(line: str) -> str:
    """Return a line as it stands between triple quotes."""
    plain = line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in plain)
