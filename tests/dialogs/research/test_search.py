"""Search in a conversation: numbers that run on, sources told before the answer, citations that stand for something."""

import asyncio
import json
from typing import Any

import pytest

from agents.events import Images, Message, SearchStep, Sources, Token, ToolEnd
from app.assistant import Turn
from app.testing import Chat, told
from app.testing.script import Call
from dialogs.research.retrievers import Image
from dialogs.research.services import Retrievers
from tests.dialogs.research.library import Library, page

PETER = page("Peter I", "Peter I was born in 1672 and built a city.", "https://wiki.example/Peter_I")
THIRD = page("Peter III", "Peter III reigned for half a year in 1762.", "https://wiki.example/Peter_III")
HATS = page("Hats", "A tricorn is a hat with three corners.", "https://wiki.example/hats")


@pytest.fixture
def library(chat: Chat) -> Library:
    """A library that is the only source."""
    shelf = Library([PETER, THIRD, HATS])
    chat.services = [Retrievers({shelf.name: shelf})]
    return shelf


def search(*queries: str, **more: object) -> Call:
    """Return a call of the tool."""
    return Call("search", {"queries": [*queries], **more})


def numbers(chat: Chat) -> list[list[int]]:
    """Return the numbers of each search, in the order of the queries."""
    payloads = [json.loads(event.object) for event in chat.events if isinstance(event, ToolEnd) and event.ok]
    return [
        [document["reference_keyword"] for result in payload["results"] for document in result["documents"]]
        for payload in payloads
    ]


def order(chat: Chat) -> list[str]:
    """Return in which order sources, images, tokens and the message came, repetitions once."""
    kinds = [event.type for event in chat.events if isinstance(event, Sources | Images | Token | Message)]
    return [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]


@pytest.mark.usefixtures("library")
async def test_two_queries_in_one_call(chat: Chat) -> None:
    """The payload counts from 0, people from 1; the message contains the cited sources."""
    chat.expects(
        supervisor=[Call("look_things_up", {"brief": "two tsars"})],
        research=[
            search("built", "reigned"),
            "Peter I came first [source=[0]], Peter III ended [source=[0, 1]].",
        ],
    )

    assert told("""
        user: Who were they?
        supervisor -> research
        sources: 0 Peter I; 1 Peter III
        research.search(queries=['built', 'reigned']) = $payload
        research: Peter I came first [1], Peter III ended [1][2].
    """).replace("$payload", json.dumps(PAYLOAD, separators=(",", ":"))) == await chat.says("Who were they?")
    [message] = [event for event in chat.events if isinstance(event, Message)]
    assert [(each["number"], each["title"], each["url"]) for each in message.citations] == [
        (0, "Peter I", PETER.url),
        (0, "Peter I", PETER.url),
        (1, "Peter III", THIRD.url),
    ]
    assert order(chat) == ["sources", "token", "message"]
    assert (await chat.messages("research"))[-1].text.count("[source=") == 2


PAYLOAD = {
    "status": "success",
    "results": [
        {"query": "built", "documents": [{"text": f"Peter I\n{PETER.text}", "reference_keyword": 0}]},
        {"query": "reigned", "documents": [{"text": f"Peter III\n{THIRD.text}", "reference_keyword": 1}]},
    ],
}


@pytest.mark.usefixtures("library")
async def test_numbers_run_on_over_the_calls_of_a_turn(chat: Chat) -> None:
    """The second call begins where the first ended; a document that comes again keeps its number."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("city"), search("corners", "city"), "A hat [source=[1]] for a tsar [source=[0]]."],
    )

    await chat.says("Tell me about hats")
    assert numbers(chat) == [[0], [1, 0]]
    assert [[*event.sources] for event in chat.events if isinstance(event, Sources)] == [["0"], ["1", "0"]]
    assert order(chat) == ["sources", "token", "message"]


async def test_calls_that_run_side_by_side_are_numbered_in_their_order(chat: Chat, library: Library) -> None:
    """The first call ends last, and still has the first numbers; every query of the reply runs at once."""
    library.gates = {"city": asyncio.Event()}
    chat.expects(
        supervisor=[Call("look_things_up")], research=[[search("city"), search("corners", "reigned")], "Done."]
    )
    async with chat.assistant() as assistant:
        events = []
        async for event in assistant.play(Turn(thread="ann", text="Look it all up")):
            events.append(event)
            if isinstance(event, SearchStep) and event.step == "cut":
                library.gates["city"].set()
    chat.events = events
    assert sorted(numbers(chat)) == [[0], [1, 2]]
    assert [[*event.sources] for event in events if isinstance(event, Sources)] == [["0"], ["1", "2"]]
    assert library.most_at_once == 3


@pytest.mark.usefixtures("library")
async def test_the_next_turn_counts_from_zero(chat: Chat) -> None:
    """Until it searches, an answer may still cite what the turn before has found."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[
            search("city"),
            "Peter [source=[0]].",
            "As I said [source=[0]].",
            search("corners"),
            "Hats [source=[0]].",
        ],
        observer=["stay", "stay"],
    )
    await chat.says("Who built it?", "Where does that stand, exactly?", "And what of those strange hats of his?")
    messages = [event for event in chat.events if isinstance(event, Message)]
    assert [[each["title"] for each in message.citations] for message in messages] == [
        ["Peter I"],
        ["Peter I"],
        ["Hats"],
    ]


@pytest.mark.usefixtures("library")
async def test_a_number_that_stands_for_nothing_is_dropped_and_counted(chat: Chat) -> None:
    """Neither the user nor the model's own history keeps it; half a mark at the end of a stream is none."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("city"), "Known [source=[0]], made up [source=[7]], half [source=[0"],
    )
    await chat.says("Who was it?")
    [message] = [event for event in chat.events if isinstance(event, Message)]
    assert (message.text, message.unknown_sources) == ("Known [1], made up, half", 2)
    assert "".join(event.text for event in chat.events if isinstance(event, Token)) == message.text
    assert (await chat.messages("research"))[-1].text == "Known [source=[0]], made up, half"


async def test_an_answer_without_a_search_has_no_sources(chat: Chat) -> None:
    """A statement without a source is not decorated with one, and costs no more than before."""
    chat.expects(supervisor=["I made that up [source=[0, 1]]."])
    assert told("""
        user: Who says so?
        supervisor: I made that up.
    """) == await chat.says("Who says so?")
    assert len(chat.script.asked) == 1


async def test_a_query_without_documents_is_told_in_words(chat: Chat, library: Library) -> None:
    """One of two: the model gets the other's documents and a word; none at all: an error."""
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("city", "unicorns"), search("unicorns"), "No unicorns."],
    )
    await chat.says("What of unicorns?")
    partial, nothing = [event for event in chat.events if isinstance(event, ToolEnd)]
    payload = json.loads(partial.object)
    assert (payload["status"], payload["results"][1]["documents"]) == ("partial", [])
    assert "“unicorns”: no documents" in payload["results"][1]["error"]
    assert (nothing.ok, "“unicorns”: no documents" in nothing.object) == (False, True)


async def test_a_source_that_fails_is_named_and_the_others_answer(chat: Chat, library: Library) -> None:
    """With one failing the answer comes from the other; with all failing the model is told which and why."""
    broken = Library(name="broken", failure="it answers with 503")
    chat.services = [Retrievers({library.name: library, broken.name: broken})]
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[
            search("city", sources=["broken", "library"]),
            search("city", sources=["broken"]),
            search("city", sources=["atlantis"]),
            "So it is [source=[0]].",
        ],
    )
    await chat.says("Who built it?")
    both, alone, unknown = [event for event in chat.events if isinstance(event, ToolEnd)]
    steps = [event for event in chat.events if isinstance(event, SearchStep)]
    assert (both.ok, alone.ok, unknown.ok) == (True, False, False)
    assert "broken: it answers with 503" in alone.object
    assert "There is no source atlantis" in unknown.object
    assert "- library: library (en)\n- broken: broken (en)" in unknown.object
    assert "broken failed: it answers with 503" in steps[1].detail


async def test_a_source_is_chosen_by_the_words_of_the_query(chat: Chat, library: Library) -> None:
    """The model names no source; the first one answers queries that fit no other."""
    news = Library([page("Today", "The news of the day about hats.")], name="news")
    chat.services = [Retrievers({library.name: library, news.name: news})]
    chat.expects(
        supervisor=[Call("look_things_up")],
        research=[search("latest news about hats"), search("corners"), "Done."],
    )
    await chat.says("What's new with hats?")
    assert (news.asked, library.asked) == (["latest news about hats"], ["corners"])
    prompt = next(asked for asked in chat.script.asked if asked.role == "research").messages[-1].text
    assert "Sources of `search`:\n- library: library (en)\n- news: news (en)" in prompt


@pytest.mark.usefixtures("library")
async def test_every_step_is_an_event_with_its_time(chat: Chat) -> None:
    """They come in their order, before the result of the call."""
    chat.expects(supervisor=[Call("look_things_up")], research=[search("city"), "Done."])
    await chat.says("Look it up")
    steps = [event for event in chat.events if isinstance(event, SearchStep)]
    assert [step.step for step in steps] == ["choose", "collect", "check", "rank", "cut", "answer"]
    assert [step.detail for step in steps] == [
        "library",
        "1 documents for 1 queries",
        "documents for 1 of 1 queries",
        "1 different documents",
        "1 documents",
        "sources 0 to 0",
    ]
    assert {step.speaker for step in steps} == {"research"}
    assert all(step.ms >= 0 for step in steps)


async def test_images_leave_with_the_sources(chat: Chat, library: Library) -> None:
    """With link, title, thumbnail, size and type; one that does not lead to the web is left out."""
    large, small = "https://img.example/t.png", "https://img.example/s.png"
    tricorn = Image(large, "Tricorn", small, 800, 600, "image/png", HATS.url)
    forged = Image("javascript:alert(1)", "Forged", "", None, None, "", "")
    library.documents = [
        page("Hats", HATS.text, HATS.url, tricorn),
        page("More hats", "Another hat.", image=forged),
    ]
    chat.expects(supervisor=[Call("look_things_up")], research=[search("hat"), "Like this [source=[0]]."])
    trace = await chat.says("Show me a hat")
    [images] = [event for event in chat.events if isinstance(event, Images)]
    assert images.plain()["images"] == [
        {
            "url": large,
            "title": "Tricorn",
            "thumbnail": small,
            "width": 800,
            "height": 600,
            "mime_type": "image/png",
            "page": HATS.url,
        }
    ]
    assert order(chat) == ["sources", "images", "token", "message"]
    assert "images: Tricorn" in trace


@pytest.mark.usefixtures("library")
async def test_the_transcript_keeps_what_the_user_saw(chat: Chat) -> None:
    """Numbers in the text, their sources beside it; the same message again repeats it."""
    chat.expects(supervisor=[Call("look_things_up")], research=[search("city"), "Peter [source=[0]]."])
    await chat.says("Who built it?", id="m1")
    first = [event for event in chat.events if isinstance(event, Message)]
    async with chat.assistant() as assistant:
        [_, line] = await assistant.history("ann")
    citation: dict[str, Any] = {"title": "Peter I", "url": PETER.url, "number": 0, "start": 6, "end": 9}
    assert (line.text, line.metadata["citations"]) == ("Peter [1].", [citation])
    await chat.says("Who built it?", id="m1")
    again = [event for event in chat.events if isinstance(event, Message)]
    assert [event.citations for event in again] == [event.citations for event in first]


async def test_more_text_than_a_model_is_given_is_cut_between_documents(chat: Chat, library: Library) -> None:
    """Every document keeps a part of its text and its number, and the payload stays whole."""
    library.documents = [page(f"Page {number}", f'"word {number}" ' * 2_000) for number in range(10)]
    queries = [f"word {number} {chr(34) * 180}" for number in range(10)]
    chat.expects(supervisor=[Call("look_things_up")], research=[search("word", limit=10), search(*queries), "Long."])
    await chat.says("Tell me everything")
    first, second = numbers(chat)
    assert first == [*range(10)]
    assert len(second) == 10
    assert set(second) <= {*range(20)}


@pytest.mark.usefixtures("library")
async def test_an_answer_that_is_stopped_keeps_the_citations_that_were_shown(chat: Chat) -> None:
    """The transcript has the numbers and their sources as far as the user saw them."""
    long = f"Peter [source=[0]] {'and so on ' * 400}[source=[0]]"
    chat.expects(supervisor=[Call("look_things_up")], research=[search("city"), long])
    async with chat.assistant() as assistant:
        events = []
        async for event in assistant.play(Turn(thread="ann", text="Who built it?")):
            events.append(event)
            if isinstance(event, Token) and event.citations:
                await assistant.stop("ann")
        [_, line] = await assistant.history("ann")
    [message] = [event for event in events if isinstance(event, Message)]
    assert message.interrupted
    assert message.text.startswith("Peter [1]")
    assert [each["start"] for each in message.citations] == [6]
    assert line.metadata["citations"] == [*message.citations]
