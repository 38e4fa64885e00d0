"""A search that follows from the first: its numbers run on, and the user is asked once at most."""

import pytest

from agents.events import Interrupt, Message, Sources
from agents.state.person import FORWARDED
from app.testing import Chat
from app.testing.script import Call
from dialogs.research.services import Retrievers
from tests.dialogs.research.library import Library, page

OWN = page("Manual", "The chain is oiled each week.", "manual.md#chain")
CHAIN = page("Chains", "A chain lasts five years.", "https://shop.example/chains")
OIL = page("Oil", "Oil costs ten euros.", "https://shop.example/oil")


@pytest.fixture
def web(chat: Chat) -> Library:
    """The web, beside documents of one's own, which come first."""
    own, web = Library([OWN], name="documents"), Library([CHAIN, OIL], name="web", reaches_out=True)
    chat.services = [Retrievers({each.name: each for each in (own, web)})]
    return web


def search(query: str, source: str = "web") -> Call:
    """Return a call of the tool."""
    return Call("search", {"queries": [query], "sources": [source]})


def questions(chat: Chat) -> list[str]:
    """Return the questions to the user."""
    return [event.prompt for event in chat.events if isinstance(event, Interrupt)]


def numbers(chat: Chat) -> list[str]:
    """Return the numbers of each search."""
    return [number for event in chat.events if isinstance(event, Sources) for number in event.sources]


def cited(chat: Chat) -> list[str]:
    """Return the addresses that the last answer leads to."""
    [*_, message] = [event for event in chat.events if isinstance(event, Message)]
    return [citation["url"] for citation in message.citations]


async def test_numbers_run_on_behind_an_answered_question(chat: Chat, web: Library) -> None:
    """The first search is unasked, the second is asked, the third is covered by the yes; no number comes twice."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[
            search("chain"),
            search("euros"),
            search("lasts oil"),
            "A chain [source=[0]], its oil [source=[1]].",
        ],
    )
    await chat.says("How long does a chain last, and what does its oil cost?")
    assert questions(chat) == [
        "I have read text that others wrote, so I ask first. Search the web, and once more if the answer needs it"
        " (for: “euros”; in: “web”; limit: 5)?"
    ]
    assert numbers(chat) == ["0"]

    await chat.says("yes")
    assert questions(chat) == []
    assert numbers(chat) == ["1", "0", "1"]
    assert cited(chat) == [CHAIN.url, OIL.url]
    assert web.asked == ["chain", "euros", "lasts oil"]


@pytest.mark.usefixtures("web")
async def test_an_aside_keeps_the_numbers(chat: Chat) -> None:
    """A shortcut is served while the question stays open; the yes behind it still counts on."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("chain"), search("oil"), "Oil [source=[1]], for a chain [source=[0]]."],
    )
    await chat.says("How long does a chain last?")
    assert len(questions(chat)) == 1
    await chat.says("what time is it?")
    await chat.says("yes")
    assert cited(chat) == [OIL.url, CHAIN.url]


@pytest.mark.parametrize(
    ("said", "query", "is_asked"),
    [
        ("How long does a chain last, and what does its oil cost?", "oil costs of a chain", False),
        ("Сколько служит цепь и почём масло?", "цепи: масло", False),
        ("How long does a chain last?", "chain oil", True),
        ("How long does a chain last?", "chain 4711", True),
    ],
)
async def test_the_users_own_words_need_no_yes(
    chat: Chat, web: Library, said: str, query: str, *, is_asked: bool
) -> None:
    """After text that others wrote, a look-up is asked about only if it has words that the user has not said."""
    chat.expects(supervisor=[Call("look_things_up")], research=[search("chain"), search(query), "So [source=[0]]."])
    await chat.says(said)

    assert len(questions(chat)) == is_asked
    if is_asked:
        chat.script.queues.clear()
    assert len(web.asked) == 1 if is_asked else 2


async def test_what_is_passed_on_is_not_the_users_own_word(chat: Chat, web: Library) -> None:
    """A forwarded message gives a look-up no words."""
    chat.expects(supervisor=[Call("look_things_up")], research=[search("oil"), "So."], observer=["stay"])
    await chat.says("chain oil", source=FORWARDED)

    assert len(questions(chat)) == 1
    chat.script.queues.clear()
    assert web.asked == []


async def test_searches_side_by_side_are_one_question(chat: Chat, web: Library) -> None:
    """One yes lets both run, in their order."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("chain"), [search("oil"), search("lasts")], "So [source=[0, 1]]."],
    )
    await chat.says("What of chains?")
    assert len(questions(chat)) == 1
    await chat.says("yes")
    assert (questions(chat), numbers(chat)) == ([], ["1", "0"])
    assert web.asked == ["chain", "oil", "lasts"]


async def test_a_no_holds_for_all_searches(chat: Chat, web: Library) -> None:
    """Neither the call beside it nor one in other words asks again, until the user speaks."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("chain"), [search("oil"), search("lasts")], search("chain oil"), "I leave it."],
        observer=["stay"],
    )
    await chat.says("What of chains?")
    trace = await chat.says("no")
    assert trace.endswith("research: I leave it.")
    assert (questions(chat), web.asked) == ([], ["chain"])

    chat.expects(research=[search("oil"), "Ten euros [source=[0]]."])
    await chat.says("And what does the oil for it cost nowadays?")
    assert (questions(chat), cited(chat)) == ([], [OIL.url])


async def test_documents_of_ones_own_are_never_asked_about(chat: Chat, web: Library) -> None:
    """Whatever was read before, and although the web could be searched too."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[
            search("chain"),
            search("oiled", "documents"),
            Call("search", {"queries": ["week"]}),
            "Weekly [source=[1]].",
        ],
    )
    await chat.says("How often is a chain oiled?")
    assert questions(chat) == []
    assert (numbers(chat), cited(chat)) == (["0", "1", "1"], [OWN.url])
    assert web.asked == ["chain"]


async def test_a_document_is_told_in_full_once(chat: Chat, web: Library) -> None:
    """Two queries that find the same page have it once; the other one names it, with the same number."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[
            Call("search", {"queries": ["chain", "chain lasts"], "sources": ["web"]}),
            "Five years [source=[0]].",
        ],
    )
    await chat.says("How long does a chain last?")

    prompt = chat.script.asked[-1].prefix
    assert prompt.count(CHAIN.text) == 1
    assert '{"text":"Chains","reference_keyword":0}' in prompt


@pytest.mark.usefixtures("web")
async def test_the_supervisor_knows_whether_the_web_is_searched(chat: Chat) -> None:
    """Its context says so, since the card of the specialist cannot."""
    chat.expects(supervisor=["Hello."])
    await chat.says("good morning to you")
    assert "look_things_up also searches the web." in chat.script.asked[-1].prefix

    chat.services = [Retrievers({"documents": Library([OWN], name="documents")})]
    chat.expects(supervisor=["Hello."])
    await chat.says("good morning to you", thread="another")
    assert "the web is not set up" in chat.script.asked[-1].prefix
