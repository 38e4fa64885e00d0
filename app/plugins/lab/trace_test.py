"""Play a recorded conversation again, and write it as a trace test in the style of `tests/engine/traces/`."""

import keyword
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, takewhile

from agents.errors import ModelUnavailable, Trouble, UsageError
from agents.memory.inbox import writers_of
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tools_of
from agents.toolkit.traits import traits_of
from app.assistant import Assistant, Turn
from app.assistant.recorded_tools import Answer, with_absent_tools, with_answers
from app.assistant.records import Answered, Record, RecordedReply
from app.composition import discover
from app.plugins.lab.reasons import PHRASES
from app.plugins.lab.recorded_answers import answers_of
from app.plugins.lab.stage import staged
from app.presentation.texts import say
from app.process.logs import silence
from app.settings import Settings
from app.testing.script import Call, Line, Script, Unsure
from prompts import sentence

THREAD = "rehearsal"
THROWN_AWAY = "(a draft that was thrown away)"


@dataclass(frozen=True)
class Play:
    """Turns that can be played again: they lead to the same trace with these replies and these answers of tools."""

    turns: Sequence[Record]
    answers: Mapping[str, Sequence[Answer]]
    absent: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """The called tools of services and servers, with their parameters, by speaker."""
    direct_switch: bool = True
    """Whether a dialog that the message plainly means takes over without a call of the supervisor's model."""
    who: Mapping[str, str] = field(default_factory=dict)
    """The `user` and the `device`, where tools know them."""

    @property
    def replies(self) -> dict[str, list[Line]]:
        """Return the replies of each role, in their order."""
        lines: defaultdict[str, list[Line]] = defaultdict(list)
        for step in (step for turn in self.turns for step in turn.steps):
            if not isinstance(step, RecordedReply):
                continue
            parts: list[str | Call] = [step.text] if step.text and step.text.strip() else []
            kind = Unsure if step.is_unsure else Call
            parts += [kind(tool, args) for tool, args in step.calls]
            if step.trouble:
                lines[step.role].append(Unavailable(step.trouble))
            elif step.text is None:
                lines[step.role].append(THROWN_AWAY)
            else:
                lines[step.role].append(parts[0] if len(parts) == 1 else parts)
        return dict(lines)


class Unavailable(ModelUnavailable):
    """In a script: no model answers."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble, "script")

    def __repr__(self) -> str:
        """Return the error as Python source."""
        return f"ModelUnavailable({self.trouble!r}, 'script')"


async def rehearse(turns: Sequence[Record], who: Mapping[str, str] | None = None) -> Play:
    """Return the turns, from the first on, that lead to the same trace when they are played again.

    `who`: the `user` and the `device`, where tools know them.

    Tools that tell of the world outside, and those that answered differently this time, give their recorded answers.
    Where the supervisor's model chose the dialog, it is asked again.
    """
    playable = list(takewhile(lambda turn: turn.is_playable, turns))
    play = await _rehearse(playable, who or {}, direct_switch=True)
    if len(play.turns) == len(playable):
        return play
    other_play = await _rehearse(playable, who or {}, direct_switch=False)
    return max(play, other_play, key=lambda rehearsed: len(rehearsed.turns))


async def _rehearse(playable: Sequence[Record], who: Mapping[str, str], *, direct_switch: bool) -> Play:
    speakers, _ = discover()
    absent = _absent(playable, speakers)
    volatile = {tool.name for speaker in speakers for tool in speaker.tools if traits_of(tool).volatile}
    volatile |= {tool for tools in absent.values() for tool in tools}
    play = Play(playable, _answers(playable, volatile), absent, direct_switch, who)
    again = await _perform(play)
    if differing := _differing(playable, again) - volatile:
        play = replace(play, answers=_answers(playable, volatile | differing))
        again = await _perform(play)
    pairs = zip(playable, again, strict=True)
    same = next((place for place, (then, now) in enumerate(pairs) if then.trace != now.trace), len(playable))
    covered = playable[:same]
    return Play(covered, _answers(covered, set(play.answers)), _absent(covered, speakers), direct_switch, who)


async def _perform(play: Play) -> list[Record]:
    speakers, _ = discover()
    speakers = with_answers(with_absent_tools(speakers, play.absent), play.answers)
    models = Script(play.replies).models([SUPERVISOR, "observer", *speakers.dialogs])
    # A test does not know the settings of this installation.
    settings = Settings.model_construct(direct_switch=play.direct_switch)
    with silence():
        async with staged(settings, speakers, models) as assistant:
            for turn in play.turns:
                user, device = play.who.get("user"), play.who.get("device", "")
                message = Turn(thread=THREAD, text=turn.text, lang=turn.lang, user=user, device=device)
                async for _ in assistant.play(message):
                    pass
            return await assistant.records(THREAD)


def _absent(turns: Sequence[Record], speakers: Speakers) -> dict[str, dict[str, list[str]]]:
    """Return the tools that answered then and are absent now, with the parameters of their calls."""
    absent: dict[str, dict[str, list[str]]] = {}
    for step in _tool_steps(turns):
        if not step.ok or step.speaker not in {SUPERVISOR, *speakers.dialogs}:
            continue
        if all(step.tool != tool.name for tool in tools_of(speakers[step.speaker], speakers)):
            names = absent.setdefault(step.speaker, {}).setdefault(step.tool, [])
            names += [name for name in step.args if name not in names]
    return absent


def _answers(turns: Sequence[Record], tools: set[str]) -> dict[str, list[Answer]]:
    """Return the answers of these tools, by tool, without failed calls, which fail again by themselves."""
    answers: defaultdict[str, list[Answer]] = defaultdict(list)
    for step, answer in (pair for turn in turns for pair in answers_of(turn.steps)):
        if step.ok and step.tool in tools:
            answers[step.tool].append(answer)
    return dict(answers)


def _differing(then: Sequence[Record], now: Sequence[Record]) -> set[str]:
    """Return the tools that answered the same call differently."""
    pairs = zip(_tool_steps(then), _tool_steps(now), strict=False)
    return {old.tool for old, new in pairs if old != new and replace(old, ok=new.ok, object=new.object) == new}


def _tool_steps(turns: Sequence[Record]) -> list[Answered]:
    return [step for turn in turns for step in turn.steps if isinstance(step, Answered)]


async def test_of(assistant: Assistant, thread: str, lang: str, **who: str) -> tuple[str, str]:
    """Return the test of a thread, and a remark with place and reason if it ends before the conversation (else empty).

    `who`: the `user` and the `device`, where tools know them.

    Raises:
        UsageError: there is no such thread, or nothing of it can be played again.
    """
    lines, records = await assistant.history(thread), await assistant.records(thread)
    if not records:
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
    if len(writers_of(lines)) > 1:
        raise UsageError(sentence(PHRASES, "test.several", lang))
    play, remark = await rehearse(records, who), ""
    covered, all_turns = len(play.turns), len(records)
    if covered < all_turns:
        status = records[covered].status if records[covered].status in ("interrupted", "large") else "unrecorded"
        why = sentence(PHRASES, f"test.{'differs' if records[covered].is_playable else status}", lang)
        facts = {"turns": covered, "whole": all_turns, "turn": covered + 1, "why": why}
        remark = sentence(PHRASES, "test.ends_early", lang, **facts)
        if not covered:
            raise UsageError(remark)
    day = datetime.fromtimestamp(lines[0].at_ms / 1000).astimezone().strftime("%Y-%m-%d") if lines else ""
    return trace_test(play, day), remark


WIDTH = 120
HEAD = '''"""A conversation as it was held{when}, to be played again: the models' replies are the script."""

{imports}


async def test_conversation{name}(chat: Chat) -> None:
    """The same replies lead to the same handoffs, tool calls and answers."""
    chat.as_shipped({setting})
'''
LONG_LINES = "# The texts are as they were said.\n# ruff: noqa: E501\n"


def trace_test(play: Play, day: str = "") -> str:
    """Return the Python source of a test, not yet formatted; `day` is that of the conversation, as 2026-11-20.

    Raises:
        UsageError: a record has a foreign name that Python does not allow.
    """
    replies = play.replies
    for name in (*replies, *play.absent, *play.answers):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"the records name {name!r}, which is not a name in Python")
    entries = [line if isinstance(line, list) else [line] for lines in replies.values() for line in lines]
    spoken = {type(part) for parts in entries for part in parts}
    imports = ["from agents.errors import ModelUnavailable"] if Unavailable in spoken else []
    imports.append("from app.testing import Chat, told")
    if kinds := sorted(kind.__name__ for kind in spoken.intersection((Call, Unsure))):
        imports.append(f"from app.testing.script import {', '.join(kinds)}")
    source = HEAD.format(
        when=f" on {day}" if day else "",
        name=f"_of_{day.replace('-', '_')}" if day else "",
        imports="\n".join(imports),
        setting="" if play.direct_switch else "direct_switch=False",
    )
    source += _call("expects", replies)
    if play.absent:
        source += f"    chat.borrows({', '.join(f'{who}={tools!r}' for who, tools in play.absent.items())})\n"
    if play.answers:
        source += _call("finds", play.answers)
    source += "".join(
        _stretch([*turns], lang, play.who) for lang, turns in groupby(play.turns, key=lambda turn: turn.lang)
    )
    return LONG_LINES + source if any(len(line) > WIDTH for line in source.splitlines()) else source


def _call(name: str, queues: Mapping[str, Sequence[object]]) -> str:
    """Return a call whose arguments are lists, an entry a line."""
    lines = [f"    chat.{name}("]
    for queue, entries in queues.items():
        lines += [f"        {queue}=[", *(f"            {entry!r}," for entry in entries), "        ],"]
    return "\n".join([*lines, "    )", ""])


def _stretch(turns: Sequence[Record], lang: str, who: Mapping[str, str]) -> str:
    lines: list[str] = []
    for turn in turns:
        heard = f"user: {turn.text}" if turn.text is not None else "user says nothing"
        lines += "\n".join(filter(None, [heard, turn.trace])).split("\n")
    shown = "\n".join(f"        {_in_block(line)}" if line.strip() else "" for line in lines)
    more = [f"{name}={value!r}" for name, value in {"lang": lang, **who}.items()]
    arguments = "".join(f"        {value},\n" for value in [*(repr(turn.text) for turn in turns), *more])
    return f'\n    assert told("""\n{shown}\n    """) == await chat.says(\n{arguments}    )\n'


def _in_block(line: str) -> str:
    """Return a line for a text in triple quotes."""
    plain = line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in plain)
