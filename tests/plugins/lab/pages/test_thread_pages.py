"""The pages on threads: found, looked at, noted, gone back to, and gone on from."""

import json
import re

import httpx
import pytest

from agents.memory.feedback import ShownTurn
from app.assistant import Assistant, Turn
from app.plugins.lab.thread_search import ThreadQuery, ThreadSearch
from app.plugins.lab.threads import view
from app.plugins.lab.turn_notes import notes_of
from tests.plugins.lab.pages.conftest import BY_PAGE
from tests.support.http_door import served

pytestmark = pytest.mark.needs("planner", "standin")
THREAD = "/lab/thread?name=shop:ann"


async def test_a_thread_is_looked_at(lab: httpx.AsyncClient) -> None:
    """The list leads to the thread; its texts are escaped; state, test and replay are there."""
    assert "shop:ann" in (await lab.get("/lab/threads")).text
    page = (await lab.get(THREAD)).text
    assert "<b>milk" not in page
    assert "&lt;b&gt;milk" in page
    assert "turn       1" in (await lab.get("/lab/thread/state?name=shop:ann&turn=1")).text
    assert (await lab.get("/lab/thread/state?name=shop:ann&turn=9")).status_code == 404
    test = await lab.get("/lab/thread/test?name=shop:ann&download=1")
    assert "attachment" in test.headers["content-disposition"]
    assert "async def test_conversation" in test.text
    replayed = await lab.post("/lab/thread/replay", data={"name": "shop:ann", "variant.model": "local:rules"})
    assert "the same" in replayed.text
    wrong = await lab.post("/lab/thread/replay", data={"name": "shop:ann", "variant.model": "nonsense"})
    assert (wrong.status_code, "openai:gpt-5-mini" in wrong.text) == (409, True)
    assert json.loads(wrong.headers["x-misfit"]) == ["variant", "model"]
    assert (await lab.get("/lab/thread?name=nobody")).status_code == 409


async def test_threads_are_found(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Words, user, tool, verdict, language and trouble find a thread; all that is asked of turns is asked of one."""
    for thread, user in (("shop:bob", "bob"), ("shop:old", "ann")):
        async for _ in assistant.play(Turn(thread=thread, text="what time is it?", user=user)):
            pass
    everything = {"shop:ann", "shop:bob", "shop:old"}
    queries: dict[str, set[str]] = {
        "words=MILK": {"shop:ann"},
        "words=:BO": {"shop:bob"},
        "user=An": {"shop:ann", "shop:old"},
        "tool=add_todos": {"shop:ann"},
        "tool=add_todos&trouble=true": set(),
        "tool=current_time&user=bob": {"shop:bob"},
        "tool=add_todos&verdict=stay": set(),
        "verdict=stay&words=": everything,
        "verdict=finished": set(),
        "lang=ru": set(),
        "lang=en": everything,
        "words=%3Cb%3E": {"shop:ann"},
        "calls=&tokens=": everything,
        "calls=3": {"shop:ann"},
        "calls=99": set(),
        "tokens=1": set(),
    }
    for query, wanted in queries.items():
        shown = (await lab.get(f"/lab/threads?{query}")).text
        assert {*re.findall(r'name=shop%3A(\w+)"', shown)} == {name.partition(":")[2] for name in wanted}, query
    assert (await lab.get("/lab/threads?verdict=maybe")).status_code == 422


async def test_a_note_and_the_thumbs_of_users(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Notes of the team, and what users think, stand at the turn; threads are found by them; `forget` deletes them."""
    turn = [turn for turn in (await view(assistant, "shop:ann"))[1] if turn.number][-1]
    shown = ShownTurn("shop:ann", turn.id, "ann")
    await assistant.memory.feedback.rate(shown, "ann", "👎", "where is <b>bread</b>?")
    body = {
        "name": "shop:ann",
        "message": turn.id,
        "labels": "wrong tool, <i>, wrong  tool",
        "text": "lists <b>too much",
    }
    for _ in "12":
        assert "Kept." in (await lab.post("/lab/thread/note", data=body)).text
    page = (await lab.get(THREAD)).text
    for words in ("👎", "where is &lt;b&gt;bread", "lists &lt;b&gt;too much", 'value="wrong tool, &lt;i&gt;"'):
        assert words in page
    for query, is_found in (
        ("label=Wrong+tool", True),
        ("label=tool", False),
        ("rating=down", True),
        ("rating=up", False),
    ):
        assert ("shop%3Aann" in (await lab.get(f"/lab/threads?{query}")).text) == is_found, query
    assert (await lab.post("/lab/thread/note", data={**body, "message": "nothing"})).status_code == 404
    await assistant.forgetting.thread("shop:ann")
    assert await notes_of(assistant.memory.store, "shop:ann") == {}
    assert await assistant.memory.feedback.of("shop:ann") == []


async def test_threads_by_the_page(assistant: Assistant) -> None:
    """A page ends with so many threads found, or read, and says where the next one begins; each is told once."""
    for number in range(4):
        async for _ in assistant.play(Turn(thread=f"t{number}", text="zebras" if number % 2 else "lions")):
            pass

    async def threads(words: str, **most: int) -> list[list[str]]:
        pages, query = list[list[str]](), ThreadQuery(words=words)
        while True:
            page = await ThreadSearch(assistant, query, **most).page()
            pages.append([info.thread for info in page.rows])
            if page.next is None:
                return pages
            query = ThreadQuery(words=words, before=page.next)

    assert await threads("", most_listed=2) == [["t3", "t2"], ["t1", "t0"], ["shop:ann"]]
    assert await threads("zebra", most_read=2) == [["t3"], ["t1"], []]


@pytest.mark.needs("seat")
async def test_the_seat_leads_here(assistant: Assistant) -> None:
    """An operator with access to the lab gets from a conversation of the seat to its page here; others do not."""
    keys = {"l" * 20: "operate+lab", "o" * 20: "operate"}
    listed = ", ".join(f"{scopes.partition('+')[2] or 'ops'}:{scopes}:{key}" for key, scopes in keys.items())
    async with served(assistant, listed) as url:
        for key, scopes in keys.items():
            async with httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as operator:
                await operator.post("/sign-in", data={"key": key})
                page = (await operator.get("/seat/talk/shop%3Aann")).text
            assert ('href="/lab/thread?name=shop%3Aann"' in page) == ("lab" in scopes)


async def test_time_travel(lab: httpx.AsyncClient, assistant: Assistant) -> None:
    """Going back to a turn that is kept changes the thread; to another one it is refused."""
    body = {"name": "shop:ann", "turn": "1"}
    assert (await lab.post("/lab/thread/back", data=body)).headers["hx-redirect"].startswith("/lab/thread")
    history = await assistant.history("shop:ann")
    assert "turn 1" in history[-1].text
    assert (await lab.post("/lab/thread/back", data={**body, "turn": "7"})).status_code == 404


async def test_a_turn_is_gone_on_from(lab: httpx.AsyncClient) -> None:
    """A session of the desk, and a case, begin with a kept turn of a thread; another turn is refused."""
    body = {"name": "shop:ann", "turn": "2"}
    desk = await lab.post("/lab/thread/desk", data={**body, "turn": "1"})
    page = (await lab.get(desk.headers["hx-redirect"])).text
    assert 'href="/lab/thread?name=shop%3Aann"' in page
    assert "&lt;b&gt;milk" in page
    case = await lab.post("/lab/thread/case", data=body)
    assert "begins with" in (await lab.get(case.headers["hx-redirect"])).text
    for path in ("desk", "case"):
        assert (await lab.post(f"/lab/thread/{path}", data={**body, "turn": "9"})).status_code == 409
