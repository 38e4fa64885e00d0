"""A conversation with a search, exported as a test."""

from agents.models.script import Call
from app.trace_test import rehearse, trace_test
from dialogs.research.retrievers import Image
from dialogs.research.services import Retrievers
from tests.conftest import Chat
from tests.dialogs.research.library import Library, page
from tests.support.exports import turns


async def test_a_search_gives_its_recorded_documents(chat: Chat) -> None:
    """An exported conversation that cites sources needs none of them: numbers, images and citations are the same."""
    picture = Image("https://img.example/hat.png", "Hat", "", 8, 6, "image/png", "https://hats.example")
    library = Library([page("Hats", "A hat.", image=picture), page("Wigs", "A wig.")])
    chat.services = [Retrievers({library.name: library})]
    searches = [Call("search", {"queries": [query]}) for query in ("hat", "wig")]
    chat.expects(
        supervisor=[Call("look_things_up", {"brief": "hats"})],
        research=[searches, "Hats [source=[0]], wigs [source=[1]]."],
    )
    trace = await chat.says("What do people wear?")

    play = await rehearse(await turns(chat))

    assert len(play.turns) == 1
    assert "research: Hats [1], wigs [2]." in trace
    assert {name: len(answers) for name, answers in play.answers.items()} == {"search": 2}
    source = trace_test(play)
    assert "sources: 0 Hats" in source
    assert "images: Hat" in source
    compile(source, "exported", "exec")
