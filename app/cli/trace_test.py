"""Write a conversation that can be played again as a trace test, in the style of `tests/engine/traces/`."""

import keyword
from collections.abc import Sequence
from itertools import groupby

from agents.errors import UsageError
from agents.models.script import Call, Line
from app.cli.replay import Play, Unavailable
from app.recording.record import Record

WIDTH = 120
INDENT = " " * 4
HEAD = '''"""A conversation as it was held{when}, to be played again: the models' replies are the script."""

{imports}


async def test_conversation{name}(chat: Chat) -> None:
    """The same replies lead to the same hand-overs, tool calls and answers."""
'''
VERBATIM = "# The texts are as they were said.\n# fmt: off\n# ruff: noqa: E501\n"


def trace_test(play: Play, day: str = "") -> str:
    """Return the Python source of a test; `day` is when the conversation was held, as 2026-11-20.

    Raises:
        UsageError: a record has a name that cannot stand in Python; nobody here gave it.
    """
    replies = play.replies
    for name in (*replies, *play.strangers, *play.answers):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"the records name {name!r}, which is no name in Python")
    imports = ["from tests.conftest import Chat, told"]
    spoken = [line for lines in replies.values() for line in lines]
    if any(_has_call(line) for line in spoken):
        imports.insert(0, "from agents.models.script import Call")
    if any(isinstance(line, Unavailable) for line in spoken):
        imports.insert(0, "from agents.errors import ModelUnavailable")
    head = HEAD.format(
        when=f" on {day}" if day else "", name=f"_of_{day.replace('-', '_')}" if day else "", imports="\n".join(imports)
    )
    body = [
        f"{INDENT}chat.as_shipped({'' if play.direct_switch else 'direct_switch=False'})\n",
        _call("chat.expects", {role: [_line(line) for line in lines] for role, lines in replies.items()}),
    ]
    if play.strangers:
        whose = ", ".join(f"{who}={_literal(tools)}" for who, tools in play.strangers.items())
        body.append(f"{INDENT}chat.borrows({whose})\n")
    if play.answers:
        answers = {tool: [_literal(answer) for answer in results] for tool, results in play.answers.items()}
        body.append(_call("chat.finds", answers))
    body += [_stretch(list(turns), lang) for lang, turns in groupby(play.turns, key=lambda turn: turn.lang)]
    source = head + "\n".join(body)
    return VERBATIM + source if any(len(line) > WIDTH for line in source.splitlines()) else source


def _call(name: str, queues: dict[str, list[str]]) -> str:
    """Return a call whose arguments are lists, an entry a line."""
    lines = [f"{INDENT}{name}("]
    for queue, entries in queues.items():
        lines += [f"{INDENT * 2}{queue}=[", *(f"{INDENT * 3}{entry}," for entry in entries), f"{INDENT * 2}],"]
    return "\n".join([*lines, f"{INDENT})", ""])


def _stretch(turns: Sequence[Record], lang: str) -> str:
    """Return the assertion for turns in one language."""
    lines: list[str] = []
    for turn in turns:
        heard = f"user: {turn.text}" if turn.text is not None else "user says nothing"
        lines += "\n".join(filter(None, [heard, turn.trace])).split("\n")
    shown = "\n".join(f"{INDENT * 2}{_in_block(line)}" if line.strip() else "" for line in lines)
    texts = [_literal(turn.text) for turn in turns] + [f"lang={_literal(lang)}"]
    arguments = "".join(f"{INDENT * 2}{argument},\n" for argument in texts)
    return f'{INDENT}assert told("""\n{shown}\n{INDENT}""") == await chat.says(\n{arguments}{INDENT})\n'


def _line(line: Line) -> str:
    match line:
        case Unavailable(trouble=trouble):
            return f'ModelUnavailable({_literal(trouble)}, "script")'
        case str() | Call():
            return _part(line)
        case list():
            return f"[{', '.join(map(_part, line))}]"
    raise TypeError(f"a recorded script has no {line!r}")


def _part(part: object) -> str:
    if not isinstance(part, Call):
        return _literal(part)
    args = f", {_literal(part.args)}" if part.args else ""
    return f"Call({_literal(part.tool)}{args})"


def _has_call(line: Line) -> bool:
    return isinstance(line, Call) or (isinstance(line, list) and any(isinstance(part, Call) for part in line))


def _literal(value: object) -> str:
    match value:
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case tuple():
            return f"({', '.join(map(_literal, value))})"
        case dict():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(entry)}' for key, entry in value.items())}}}"
    return repr(value)


def _quoted(text: str) -> str:
    """Return a text as Python source, in double quotes unless single ones save escapes."""
    # With both quotes in front, repr escapes the single ones.
    body = repr("'\"" + text)[4:-1]
    if text.count('"') > text.count("'"):
        return f"'{body}'"
    return '"' + body.replace("\\'", "'").replace('"', '\\"') + '"'


def _in_block(line: str) -> str:
    """Return a line as it stands between triple quotes."""
    plain = line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in plain)
