"""The slash commands, one registry for every door: a name, a description per language, what is done."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from agents.errors import UsageError
from agents.memory.preferences import Busy, Preferences
from agents.memory.store import namespace_of
from agents.person import ASR
from app.listing import columns, first_line, history_lines, moment, own_thread_lines, state_of_talk
from app.sentences import say
from app.visit import Visit
from prompts import languages, phrase

CALL = re.compile(r"/([a-z_]+)(?:\s+(.*))?", re.DOTALL)
YES = "yes"
FORGETS = ("", "profile", "me")
UNDO = "undo"
"""The message that takes back what was written last, in every language."""

Handler = Callable[[Visit, str, str], Awaitable[str]]
"""Takes the visit, what was typed behind the name, and the language to answer in; returns the answer."""
Choices = Callable[[Visit], Awaitable[Mapping[str, str]]]
"""Returns what may stand behind a command's name, each with a word about it."""


async def _anything(visit: Visit) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Command:
    """One slash command."""

    name: str
    run: Handler
    doors: tuple[str, ...] = ("repl", "telegram")
    """Where it is offered."""
    yes: str = ""
    """The argument without which it only asks whether it should; a door may offer a button for it."""
    arguments: tuple[str, ...] = ("",)
    """The arguments that it takes, if it asks."""
    picks: tuple[str, ...] = ()
    """What a door may offer as buttons, when nothing is said behind its name."""
    choices: Choices = _anything
    """What may stand behind its name; a door may complete it."""

    def description(self, lang: str) -> str:
        """Return one line on what the command does."""
        return say(f"command.{self.name}", lang)


def parse(text: str) -> tuple[str, str] | None:
    """Return the command's name and argument; None for a text that is no command."""
    call = CALL.fullmatch(text.strip())
    return (call[1], (call[2] or "").strip()) if call else None


def offered(door: str) -> list[Command]:
    """Return the commands of a door, in the order of its menu."""
    return [command for command in COMMANDS.values() if door in command.doors]


async def choices(name: str, visit: Visit) -> Mapping[str, str]:
    """Return what may stand behind a command's name, each with a word about it; empty if it could be anything."""
    command = COMMANDS.get(name)
    return await command.choices(visit) if command and visit.door.name in command.doors else {}


async def run(name: str, argument: str, visit: Visit, lang: str) -> str:
    """Run a command by name and return its answer as plain text; empty when there is nothing to say."""
    command = COMMANDS.get(name)
    if command is None or visit.door.name not in command.doors:
        return say("reply.unknown_command", lang, name=name)
    return await command.run(visit, argument, lang)


async def _help(visit: Visit, argument: str, lang: str) -> str:
    lines = columns((f"/{command.name}", command.description(lang)) for command in offered(visit.door.name))
    keys = ["", say("keys_title", lang), *say("keys_list", lang).split("\n")] if visit.door.name == "repl" else []
    return "\n".join([*lines, *keys])


async def _start(visit: Visit, argument: str, lang: str) -> str:
    if await visit.state():
        today = "" if visit.is_shared else await visit.assistant.today(visit.owner, lang, if_any=True)
        return "\n\n".join(filter(None, [today, say("reply.started_before", lang)]))
    await visit.play(visit.turn(None))
    return ""


async def _stop(visit: Visit, argument: str, lang: str) -> str:
    return "" if await visit.stop() else say("reply.nothing_to_stop", lang)


async def _dialogs(visit: Visit, argument: str, lang: str) -> str:
    return "\n".join(columns(visit.assistant.dialogs.items()))


async def _go(visit: Visit, argument: str, lang: str) -> str:
    if argument and argument not in visit.assistant.dialogs:
        return say("reply.no_dialog", lang, name=argument, known=", ".join(visit.assistant.dialogs))
    # A message that is a dialog's name, and no more, leads there; the one in charge simply goes on.
    text = argument if argument and argument != visit.speaker else None
    await visit.play(visit.turn(text, source="command"))
    return ""


async def _today(visit: Visit, argument: str, lang: str) -> str:
    if visit.is_shared or await visit.assistant.forgetting.is_shared(visit.thread, visit.owner):
        return say("reply.today_private", lang)
    return await visit.assistant.today(visit.owner, lang)


async def _undo(visit: Visit, argument: str, lang: str) -> str:
    await visit.play(visit.turn(UNDO, source="command"))
    return ""


async def _retry(visit: Visit, argument: str, lang: str) -> str:
    last = await visit.assistant.last_message(visit.thread, visit.owner)
    if last is None or (last.source == "command" and last.text and last.status != "failed"):
        return say("reply.nothing_to_retry", lang)
    if last.status == "failed":
        # Under its own id it goes on where it failed, and does nothing twice.
        turn = visit.turn(last.text, source=last.source, id=last.message_id)
    else:
        spoken_or_typed = last.source if last.source == ASR else "message"
        turn = visit.turn(last.text, source=spoken_or_typed if last.text else "command")
    await visit.play(turn)
    return ""


async def _state(visit: Visit, argument: str, lang: str) -> str:
    state = await visit.state()
    return "\n".join(state_of_talk(state, lang)) if state else say("reply.nothing_yet", lang)


async def _history(visit: Visit, argument: str, lang: str) -> str:
    lines = await visit.assistant.history(visit.thread, visit.owner)
    return "\n".join(history_lines(lines, lang)) if lines else say("reply.nothing_yet", lang)


async def _threads(visit: Visit, argument: str, lang: str) -> str:
    threads = await visit.assistant.threads(visit.owner)
    return "\n".join(own_thread_lines(threads)) if threads else say("no_threads", lang)


async def _new(visit: Visit, argument: str, lang: str) -> str:
    taken = {info.thread for info in await visit.assistant.threads()} | {visit.thread}
    free = (f"{visit.owner}-{number}" for number in range(2, len(taken) + 3))
    # The person stays who they are: what is known of them goes with them into the other thread.
    visit.user = visit.owner
    visit.thread = argument or next(name for name in free if name not in taken)
    state = await visit.state()
    if not state:
        await visit.play(visit.turn(None))
    return say("reply.thread_is", lang, thread=visit.thread)


async def _lang(visit: Visit, argument: str, lang: str) -> str:
    langs = languages() or [lang]
    if argument and argument not in langs:
        return say("unknown_lang", lang, lang=argument, known=", ".join(langs))
    if argument:
        visit.lang = argument
        await visit.assistant.speak(visit.owner, argument)
    chosen = visit.lang or lang
    return say("reply.lang_is", chosen, lang=chosen, known=", ".join(langs))


async def _busy(visit: Visit, argument: str, lang: str) -> str:
    store, modes = visit.assistant.memory.store, get_args(Busy)
    if argument in modes:
        await store.aput(namespace_of(visit.owner, "settings"), "busy", {"mode": argument})
    elif argument:
        return say("reply.busy_unknown", lang, mode=argument, known=", ".join(modes))
    mode = (await Preferences.of(store, visit.owner)).busy
    return say("reply.busy_is", lang, what=say(f"busy.{mode}", lang))


async def _forget(visit: Visit, argument: str, lang: str) -> str:
    *words, last = argument.lower().split() or [""]
    what = " ".join([*words, *([last] if last != YES else [])])
    if what not in FORGETS:
        return say("reply.forget_what", lang)
    scope = what or ("part" if await visit.assistant.forgetting.is_shared(visit.thread, visit.owner) else "thread")
    if last != YES:
        command = " ".join(["/forget", *what.split(), YES])
        return f"{phrase(f'forget_{scope}', lang)} {say('reply.forget_yes', lang, command=command)}"
    visit.speaker = visit.question = None
    try:
        was_known = await _forgotten(visit, scope)
    except UsageError:
        # All rows are gone; only their bytes wait for another reader of the file to close it.
        was_known = True
    return phrase(f"forgotten_{scope}", lang) if was_known else say("reply.nothing_yet", lang)


async def _forgotten(visit: Visit, scope: str) -> bool:
    """Delete what the user has confirmed; False if there was nothing of it."""
    if scope == "thread":
        return await visit.assistant.forget(visit.thread)
    if scope == "part":
        return await visit.assistant.forgetting.part(visit.thread, visit.owner)
    await visit.assistant.forgetting.forget(visit.owner, scope)
    return True


async def _trace(visit: Visit, argument: str, lang: str) -> str:
    visit.door.is_traced = not visit.door.is_traced
    return say("reply.trace_on" if visit.door.is_traced else "reply.trace_off", lang)


async def _quit(visit: Visit, argument: str, lang: str) -> str:
    visit.is_open = False
    return ""


async def _any_dialog(visit: Visit) -> Mapping[str, str]:
    return visit.assistant.dialogs


async def _any_thread(visit: Visit) -> Mapping[str, str]:
    threads = await visit.assistant.threads(visit.owner)
    return {info.thread: f"{moment(info.active_ms)}  {first_line(info)}" for info in threads}


async def _anything_kept(visit: Visit) -> Mapping[str, str]:
    return dict.fromkeys(filter(None, FORGETS), "")


async def _any_language(visit: Visit) -> Mapping[str, str]:
    return dict.fromkeys(languages(), "")


COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command("start", _start, doors=("telegram",)),
        Command("help", _help),
        Command("stop", _stop, doors=("telegram",)),
        Command("go", _go, choices=_any_dialog),
        Command("dialogs", _dialogs),
        Command("retry", _retry),
        Command("today", _today),
        Command("undo", _undo),
        Command("state", _state),
        Command("history", _history),
        Command("threads", _threads, doors=("repl",)),
        Command("new", _new, doors=("repl",), choices=_any_thread),
        Command("lang", _lang, choices=_any_language),
        Command("busy", _busy, doors=("telegram",), picks=get_args(Busy)),
        Command("forget", _forget, yes=YES, arguments=FORGETS, choices=_anything_kept),
        Command("trace", _trace, doors=("repl",)),
        Command("quit", _quit, doors=("repl",)),
    )
}
