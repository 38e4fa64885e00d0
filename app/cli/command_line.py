"""The command line: one function and one entry of the parser for each command."""

import argparse
import asyncio
import os
import signal
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from agents.errors import BrokenState, ConfigError, ContractError, UsageError
from app.assistant.storage_faults import STORAGE
from app.cli import (
    calibrate,
    demo,
    document_index,
    export,
    forget,
    import_calendar,
    inspect,
    library,
    orders,
    ring,
    setup,
    talk,
    tools,
)
from app.cli.stdout import results_alone
from app.doors.visit import INTERRUPTED, TROUBLE
from app.settings import Settings, read_settings
from app.signals import cancelled_by
from prompts import PromptError, languages

TERMINATED = 143
THREAD = "me"

Run = Callable[[Namespace, Settings], Awaitable[int]]


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; faults of the caller are one line on stderr."""
    try:
        options = _parser().parse_args(arguments)
        with results_alone() if getattr(options, "json", False) else nullcontext():
            return asyncio.run(_until_terminated(options))
    except (ConfigError, UsageError, ContractError, PromptError) as fault:
        print(f"python -m app: {fault}", file=sys.stderr)
        return inspect.USAGE
    except (BrokenState, sqlite3.Error) as fault:
        # A row costs its thread, and anything else the command: both are the operator's to mend.
        way_out = (
            "say something in it, or forget it" if isinstance(fault, BrokenState) else "the database cannot be used"
        )
        print(f"python -m app: {fault}; {way_out}", file=sys.stderr)
        return TROUBLE[STORAGE]
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more; what is left in the buffer must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m app", description="One assistant, many dialogs.", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, run: Run, about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        added.set_defaults(run=run)
        return added

    _talking(command("chat", talk.chat, "talk; from a pipe, one message a line"))
    asking = command("ask", talk.ask, "play one turn")
    asking.add_argument("text", metavar="TEXT", nargs="?", default="", help="what to say; - reads standard input")
    asking.add_argument("--file", action="append", default=[], help="a picture, recording or document to go with it")
    asking.add_argument("--message-id", help="the same id again does nothing twice")
    _talking(asking)
    answering = command("resume", talk.resume, "answer what a tool has asked")
    answering.add_argument("--choose", required=True, metavar="X", help="a number, an id, a label, or a form's values")
    _talking(answering, thread=None)
    _json(command("threads", inspect.threads, "list the threads"))
    _on_thread(command("state", inspect.state, "show who holds a thread's conversation"))
    _on_thread(command("history", inspect.history, "show what was said in a thread"))
    _exporting(command("export", export.export, "print a thread: to read, as JSON, or as a test"))
    _importing(command("import", import_calendar.import_, "set a reminder for each event of an iCalendar file"))
    going_back = command("back", inspect.back, "go back to the end of an earlier turn; what was done stays done")
    going_back.add_argument("--turn", type=int, required=True, metavar="K", help="as `history --json` numbers them")
    _on_thread(going_back)
    _forgetting(command("forget", forget.forget, "delete a thread, a person's part of it, or all about a person"))
    _demonstrating(command("demo", demo.demo, "watch a conversation that shows what it can do"))
    _setting_up(command("setup", setup.setup, "connect a language model and write .env"))
    _json(command("notes", inspect.notes, "list what was passed on to a person"))
    _ordering(command("orders", orders.list_, "the shop: who is which customer; match one, set a price, load a shop"))
    _watching(command("library", library.list_, "the media library: its titles; who has which profile"))
    _tooling(command("tools", tools.list_, "list the tools; show one, try one, edit its card"))
    _indexing(command("index", document_index.list_, "your own documents for searches: add, list, remove"))
    _letting_in(command("telegram", _telegram, "answer in Telegram, as the bot of TELEGRAM_BOT_TOKEN, until stopped"))
    _ringing(command("ring", ring.ring, "ring reminders while no conversation is open, until stopped"))
    command("graph", inspect.graph, "draw the graph, as mermaid")
    _calibrating(command("calibrate", calibrate.calibrate, "fit the gate to the verdicts this installation has logged"))
    _json(command("check", inspect.check, "show everything that is discovered; exit 2 if something is wrong"))
    return parser


def _talking(parser: argparse.ArgumentParser, *, thread: str | None = THREAD) -> None:
    about = f"which conversation{f' (default: {thread})' if thread else ''}"
    parser.add_argument("--thread", type=_name, default=thread, required=thread is None, help=about)
    parser.add_argument("--user", type=_name, help="whose conversation (default: the thread's name)")
    parser.add_argument("--lang", type=_language, help="what to speak (default: the thread's, or APP_LANG)")
    parser.add_argument("--model", help="the model to ask (default: LLM_MODEL)")
    parser.add_argument("--trace", action="store_true", help="show on stderr what happens in every turn")
    _json(parser)
    about = "print the turn as chunks of a chat completion, one JSON object a line"
    parser.add_argument("--chunks", dest="json", action="store_const", const=talk.CHUNKS, help=about)


def _on_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", type=_name, required=True)
    _json(parser)


def _forgetting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", type=_name, help="which conversation")
    parser.add_argument("--user", type=_name, help="whose part of it; without a thread all that is kept of this user")
    parser.add_argument("--yes", action="store_true", help="do not ask; without a terminal nobody is asked")
    _json(parser)


def _demonstrating(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lang", type=_language, help="what to speak (default: APP_LANG)")
    parser.add_argument("--trace", action="store_true", help="show on stderr what happens in every turn")
    parser.add_argument("--fast", action="store_true", help="do not wait for a reader")


def _letting_in(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    about = "print a link that lets its first opener talk to the bot, within an hour"
    parts.add_parser("pair", help=about, description=about, allow_abbrev=False).set_defaults(run=_pair)


def _setting_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint; left out: look for servers on this machine")
    parser.add_argument("--model", help="the model's name there, or <provider>:<name> as LLM_MODEL takes it")
    parser.add_argument("--yes", action="store_true", help="ask nothing; the key is taken from OPENAI_API_KEY")
    parser.add_argument("--ring", action="store_true", help="only write a service of yours that rings reminders")


def _ringing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", type=_name, help="only this user's reminders (default: those of everybody)")
    parser.add_argument("--lang", type=_language, help="the language of the notifications' title (default: APP_LANG)")
    parser.add_argument("--ics", metavar="FILE", help="keep the user's reminders there as a calendar to subscribe to")


def _exporting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", type=_name, required=True)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: %(default)s")
    form.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    # What it prints is a file, in any form.
    parser.set_defaults(json=True)
    about = "the reminders of its user, as a calendar (iCalendar)"
    form.add_argument("--ics", dest="format", action="store_const", const="ics", help=about)
    parser.add_argument("--user", type=_name, help="whose reminders (default: the thread's name)")
    form.add_argument("--as-test", action="store_true", help="a trace test, the models' replies as its script")


def _importing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.ics")
    parser.add_argument("--thread", type=_name, default=THREAD, help=f"where they ring (default: {THREAD})")
    parser.add_argument("--user", type=_name, help="whose reminders (default: the thread's name)")
    parser.add_argument("--lang", type=_language, help="the reminders' language (default: APP_LANG)")
    _json(parser)


def _calibrating(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("--reset", action="store_true", help="go back to the thresholds that come with the application")


def _tooling(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    actions = parser.add_subparsers(metavar="ACTION")

    def action(name: str, run: Run, about: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about, allow_abbrev=False)
        added.add_argument("name", metavar="NAME", help="the tool's")
        added.set_defaults(run=run)
        return added

    # Left out here, --json may still have been said before the action.
    _json(action("show", tools.show, "show all there is to review of a tool"), default=argparse.SUPPRESS)
    trying = action("try", tools.try_, "run a tool for real; exit 1 if it fails")
    trying.add_argument("pairs", metavar="ARGUMENT=VALUE", nargs="*", help="a text as it is, anything else as JSON")
    trying.add_argument("--user", type=_name, default=THREAD, help="in whose name (default: %(default)s)")
    trying.add_argument("--lang", type=_language, help="in which language (default: APP_LANG)")
    trying.add_argument("--yes", action="store_true", help="let it write")
    _json(trying, default=argparse.SUPPRESS)
    editing = action("edit", tools.edit, "change a card's texts; without options in your editor")
    editing.add_argument("--lang", type=_language, required=True, help="the card's language")
    editing.add_argument("--description", metavar="TEXT", help="what a model is told")
    editing.add_argument("--add-example", metavar="TEXT", action="append", default=[], help="what people say")
    editing.add_argument("--remove-example", metavar="TEXT", action="append", default=[])


def _indexing(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, run: Run, about: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about, allow_abbrev=False)
        added.set_defaults(run=run)
        _json(added)
        return added

    adding = action("add", document_index.add, "index a folder, or a file; again: what has changed")
    adding.add_argument("path", metavar="PATH", type=Path, help="Markdown, HTML, PDF and text files are read")
    adding.add_argument("--url", metavar="URL", help="where readers find the folder, such as https://docs.example/")
    action("list", document_index.list_, "list what is indexed")
    removing = action("remove", document_index.remove, "take a folder, a file or help out of the index")
    removing.add_argument("path", metavar="PATH", help="as it was added; help: our help pages")


def _actions(parser: argparse.ArgumentParser) -> Callable[..., argparse.ArgumentParser]:
    """Return what adds an action to a command: by its name, what runs, what it does, and its arguments' names."""
    _json(parser)
    actions = parser.add_subparsers(metavar="ACTION")

    def action(name: str, run: Run, about: str, *names: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about, allow_abbrev=False)
        for argument in names:
            added.add_argument(argument, metavar=argument.upper(), type=_name)
        added.set_defaults(run=run)
        _json(added, default=argparse.SUPPRESS)
        return added

    return action


def _ordering(parser: argparse.ArgumentParser) -> None:
    action = _actions(parser)
    matching = action("match", orders.match, "say which customer of the shop a user is", "user_id", "customer")
    matching.add_argument("--device", type=_name, help="only through this door, such as terminal")
    action("unmatch", orders.unmatch, "say that a user is no customer", "user_id")
    pricing = action("price", orders.price, "change an item's price; those who watch it are told", "item")
    pricing.add_argument("price", metavar="PRICE", type=float)
    loading = action("load", orders.load, "load a shop in the schema of tau2-bench's retail environment", "file")
    loading.add_argument("--yes", action="store_true", help="replace all records that there are")


def _watching(parser: argparse.ArgumentParser) -> None:
    action = _actions(parser)
    action("list", library.list_, "list all titles, with their files")
    action("viewers", library.viewers, "list who has which profile")
    giving = action("viewer", library.viewer, "give a user a profile, which several may share", "user_id", "profile")
    giving.add_argument("--age", type=int, metavar="YEARS", help="play nothing for people who are older than this")
    giving.add_argument("--device", type=_name, help="only through this door, such as terminal")
    action("no-viewer", library.no_viewer, "take a user's profile away", "user_id")


def _json(parser: argparse.ArgumentParser, default: object = False) -> None:
    about = "print JSON and nothing else on stdout"
    parser.add_argument("--json", action="store_true", default=default, help=about)


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("a name is needed")
    return os.fsencode(text).decode("utf-8", "replace")


def _language(text: str) -> str:
    if text not in (langs := languages()):
        raise argparse.ArgumentTypeError(f"there is no language {text!r}; there are: {', '.join(langs)}")
    return text


async def _telegram(options: Namespace, settings: Settings) -> int:
    # Its library takes half a second to import, which no other command should wait for.
    return int(await import_module("app.doors.telegram.service").serve(options, settings))


async def _pair(options: Namespace, settings: Settings) -> int:
    return int(await import_module("app.doors.telegram.pairing").pair(options, settings))


async def _until_terminated(options: Namespace) -> int:
    """Run the command; SIGTERM cancels it, so that a running answer is stopped and stored first."""
    with cancelled_by(signal.SIGTERM) as signalled:
        try:
            return int(await options.run(options, read_settings()))
        except asyncio.CancelledError:
            if not signalled:
                raise
            return TERMINATED
