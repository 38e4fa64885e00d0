"""A file's settings of MCP servers' tools, in conversations with a real server, which is started once."""

from pathlib import Path

import pytest

from agents.events.views import CardList, Notice
from app.composition import discover
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.plugins.remote_tools.remote_files import EMMA, library_at, opened, taking
from tests.support.rules import rules

pytestmark = pytest.mark.slow


async def test_a_server_offers_tools(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """Structured content is an object with numbers for identifiers; texts are messages; errors go to the model."""
    calls: list[Line] = [
        Call("find_books", {"title": "emma"}),
        Call("lend_book", {"book": 1}),
        Call("find_books", {"name": "emma"}),
        Call("find_books", {"title": "ulysses"}),
    ]
    chat.expects(supervisor=[*calls, "It is yours."])
    async with opened(tmp_path, chat.speakers, servers=library_at(library_port)) as chat.speakers:
        forged = phrase("tool_forged", "en", names="name", allowed="title")
        assert told(f"""
            user: Emma, please
            supervisor.find_books(title='emma') = {EMMA}
            supervisor.lend_book(book=1) = ann has it, as no. 1 of process A1
            supervisor.find_books(name='emma') ! {forged}
            supervisor.find_books(title='ulysses') = []
            supervisor: It is yours.
        """) == await chat.says("Emma, please")
    assert not [asked for asked in chat.script.asked if "reader" in asked.prefix or "A1" in asked.messages[0].text]


async def test_the_rules_lend_a_book_by_its_number(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """`local:rules` takes the title out of an example with a slot, and the number of what was shown as an answer."""
    chat.models = rules()
    async with opened(tmp_path, chat.speakers, servers=library_at(library_port)) as chat.speakers:
        assert "supervisor.find_books(title='Emma') = " in await chat.says("do you have Emma")
        await chat.says("lend me a book")
        assert "supervisor.lend_book(book=1) = ann has it" in await chat.says("1")


async def test_what_a_server_refuses_the_model_reads(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """An error of a tool is an error to the model, in the server's words."""
    chat.expects(supervisor=[Call("nap", {"seconds": "long"}), "It does not work."])
    async with opened(tmp_path, chat.speakers, servers=library_at(library_port)) as chat.speakers:
        trace = await chat.says("Take a nap")
    assert "supervisor.nap(seconds='long') ! nap was refused: Error executing tool nap" in trace


async def test_a_result_is_shown(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """A tool of a server has a view like any other; the file's fixed arguments are sent and in no prompt."""
    chat.expects(supervisor=[Call("new_books"), "Two."])
    async with opened(tmp_path, chat.speakers, servers=library_at(library_port)) as chat.speakers:
        assert told("""
            user: What is new?
            supervisor.new_books() = [{"id":1,"title":"The Odyssey"},{"id":2,"title":"Emma"}]
            view: cards New books
            supervisor: Two.
        """) == await chat.says("What is new?")
    [cards] = [event for event in chat.events if isinstance(event, CardList)]
    assert [entry.id for entry in cards.entries] == ["urn:isbn:9780140449136", "urn:isbn:9780141439518"]
    assert not [asked for asked in chat.script.asked if "most" in asked.prefix]


async def test_a_server_offers_candidates(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """JSON in a text is read like any object: the user chooses, and the model gets the one that was chosen."""
    chosen = {
        "effect": "read",
        "kind": "selector",
        "options": {"ask": "Which book?", "label": "{name}", "id": "{isbn}"},
        "result": {
            "object": "books",
            "schema": {"type": "object", "properties": {"isbn": {"type": "string", "opaque": "book"}}},
        },
    }
    chat.expects(supervisor=[Call("catalogue", {"shelf": "all"}), Call("lend_book", {"book": 1}), "Yours."])
    async with opened(tmp_path, chat.speakers, servers=taking(library_port, catalogue=chosen)) as chat.speakers:
        assert told("""
            user: Show me the shelf
            selector: Which book? [The Odyssey | Emma]
            user: Emma
            supervisor.catalogue(shelf='all') = {"isbn":1,"name":"Emma"}
            supervisor.lend_book(book=1) = ann has it, as no. 1 of process A1
            supervisor: Yours.
        """) == await chat.says("Show me the shelf", "Emma")


async def test_candidates_may_be_the_servers_own_list(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """Of a list as the server gives it the candidate that is chosen keeps the server's schema and its marks."""
    chosen = {
        "effect": "read",
        "kind": "selector",
        "parameters": {"most": {"description": "How many at most."}},
        "options": {"ask": "Which book?", "label": "{title}"},
        "result": {"opaque": {"id": "book"}},
    }
    chat.expects(supervisor=[Call("new_books", {"most": 2}), "Emma it is."])
    async with opened(tmp_path, chat.speakers, servers=taking(library_port, new_books=chosen)) as chat.speakers:
        trace = await chat.says("Let me choose", "2")
    assert 'supervisor.new_books(most=2) = {"id":1,"title":"Emma"}' in trace
    assert "How many at most." in chat.script.asked[0].prefix


async def test_a_server_sends_the_user_to_a_page(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """A breaker of a server asks the user to open the page that its answer names."""
    joining = {
        "kind": "breaker",
        "parameters": {"reader": {"trusted": "user"}},
        "page": {"ask": "Become a member, {reader}.", "url": "{page}"},
    }
    chat.expects(supervisor=[Call("join"), "Welcome."])
    async with opened(tmp_path, chat.speakers, servers=taking(library_port, join=joining)) as chat.speakers:
        trace = await chat.says("I want to join", "done")
    assert "breaker: Become a member, ann. [https://library.example/join]" in trace
    assert trace.endswith("supervisor: Welcome.")


async def test_a_refusal_is_told_as_the_file_says(chat: Chat, tmp_path: Path, library_port: int) -> None:
    """The user sees the notice of the file; a choice without data is a failure, not an empty choice."""
    notice = {"errors": {"notice": "The library is closed."}}
    options = {"kind": "selector", "options": {"ask": "Which?", "label": "{name}"}}
    tools = {"lend": {"permission": "lend", **notice}, "nap": {"effect": "read", **options, **notice}}
    chat.expects(supervisor=[Call("lend", {"book": "x", "reader": "y"}), Call("nap", {"seconds": 0}), "Sorry."])
    async with opened(tmp_path, chat.speakers, servers=taking(library_port, **tools)) as chat.speakers:
        trace = await chat.says("Lend me one")
    assert f"! {phrase('tool_forbidden', 'en', tool='lend')}" in trace
    assert f"supervisor.nap(seconds=0) ! {phrase('tool_failed', 'en', tool='nap')}" in trace
    chat.permissions = {"ann": frozenset({"lend"})}
    chat.expects(supervisor=[Call("lend", {"book": "x", "reader": "y"}), "Sorry."])
    async with opened(tmp_path, discover()[0], servers=taking(library_port, **tools)) as chat.speakers:
        trace = await chat.says("Lend me one")
    assert "lend was refused: Error executing tool lend: no book x" in trace
    assert [event.message for event in chat.events if isinstance(event, Notice)] == ["The library is closed."]
