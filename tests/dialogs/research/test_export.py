"""A conversation with a search, exported as a test."""

import pytest

from app.testing import Chat
from app.testing.script import Call
from dialogs.research.retrievers import Image
from dialogs.research.services import Retrievers
from tests.dialogs.research.library import Library, page
from tests.support.exports import turns

lab = pytest.importorskip("app.plugins.lab.trace_test")
mocking = pytest.importorskip("app.plugins.lab.mocks")


async def wearing(chat: Chat, thread: str = "ann") -> str:
    """Look up what people wear, and return the trace."""
    searches = [Call("search", {"queries": [query]}) for query in ("hat", "wig")]
    chat.expects(
        supervisor=[Call("look_things_up", {"brief": "hats"})],
        research=[searches, "Hats [source=[0]], wigs [source=[1]]."],
    )
    return await chat.says("What do people wear?", thread=thread)


@pytest.fixture
def library(chat: Chat) -> None:
    """Let the conversation find two pages, one with a picture."""
    picture = Image("https://img.example/hat.png", "Hat", "", 8, 6, "image/png", "https://hats.example")
    library = Library([page("Hats", "A hat.", image=picture), page("Wigs", "A wig.")])
    chat.services = [Retrievers({library.name: library})]


@pytest.mark.usefixtures("library")
async def test_a_search_gives_its_recorded_documents(chat: Chat) -> None:
    """An exported conversation that cites sources needs none of them: numbers, images and citations are the same."""
    trace = await wearing(chat)

    play = await lab.rehearse(await turns(chat))

    assert len(play.turns) == 1
    assert "research: Hats [1], wigs [2]." in trace
    assert {name: len(answers) for name, answers in play.answers.items()} == {"search": 2}
    source = lab.trace_test(play)
    assert "sources: 0 Hats" in source
    assert "images: Hat" in source
    compile(source, "exported", "exec")


@pytest.mark.usefixtures("library")
async def test_a_mock_of_a_search_gives_its_recorded_documents(chat: Chat) -> None:
    """Mocks that are made of a record find what was found then: the sources, the images and the citations."""
    then = await wearing(chat)
    mocks = mocking.recorded_mocks(await turns(chat), chat.speakers, volatile_alone=False)
    chat.services, chat.speakers = [], mocking.with_mocks(chat.speakers, mocks)

    now = await wearing(chat, "bob")

    assert [line for line in now.splitlines() if " is mocked: " not in line] == then.splitlines()
    assert now.count("research.search is mocked: a fixed result") == 2
