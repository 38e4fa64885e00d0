"""Retrievers combined: several at once, one for another, with limits of time and a memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.memory.sqlite_file import SqliteBackend
from dialogs.research.addresses import canonical
from dialogs.research.composites import Bounded, FirstOf, SearchCache, Together, fused
from dialogs.research.retrievers import FoundDocument, Image, Results, Retriever, SearchFailed
from dialogs.research.settings import read_plans
from tests.dialogs.research.opened import cached


@dataclass
class Fixed:
    """A source that answers as a test says, and remembers what it was asked."""

    name: str
    answer: Sequence[str] | Exception = ()
    seconds: float = 0
    asked: list[str] = field(default_factory=list)

    @property
    def reaches_out(self) -> bool:
        """It is on this machine."""
        return False

    def description(self, lang: str) -> str:
        """Return its name."""
        return self.name

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return a document, with a picture, for each address of the answer."""
        self.asked.append(query)
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        picture = Image("https://a.example/i.png", "A", "", 640, 480, "image/png", "https://a.example")
        return Results([FoundDocument(url, url, url, self.name, "2026-11-22", picture) for url in self.answer][:limit])


def urls(results: Results) -> list[str]:
    """Return the addresses that were found, in their order."""
    return [document.url for document in results.documents]


async def test_several_are_asked_at_once_and_their_ranks_add_up() -> None:
    """A page that two sources know comes before what one of them has first; it stands there once."""
    sources = [
        Fixed("a", ["https://one.example/", "https://both.example/page"]),
        Fixed("b", ["https://two.example/", "http://www.both.example/page/?utm_source=x#part"]),
    ]

    results = await Together("web", sources).search("q", limit=5, lang="en")

    assert urls(results) == ["https://both.example/page", "https://one.example/", "https://two.example/"]
    assert not results.failures


async def test_they_do_not_wait_for_each_other() -> None:
    """Each begins before any has ended."""
    begun = asyncio.Barrier(3)

    @dataclass
    class Meeting(Fixed):
        async def search(self, query: str, *, limit: int, lang: str) -> Results:
            await begun.wait()
            return Results()

    async with asyncio.timeout(60):
        await Together("all", [Meeting(name) for name in "abc"]).search("q", limit=5, lang="en")


async def test_one_that_fails_is_named_and_the_others_answer() -> None:
    """A failure, a bug and a slow source are told beside what the fourth found; only the slow one is cut off."""
    sources: list[Retriever] = [
        Fixed("down", SearchFailed("down: it answered 503")),
        Fixed("broken", KeyError("secret query")),
        Bounded(Fixed("slow", ["https://late.example"], seconds=30), timeout=0.01),
        Fixed("good", ["https://good.example"]),
    ]

    results = await Together("web", sources).search("q", limit=5, lang="en")

    assert urls(results) == ["https://good.example"]
    assert results.failures == {
        "down": "down: it answered 503",
        "broken": "broken: an error (KeyError)",
        "slow": "slow: no answer within 0.01 seconds",
    }


async def test_if_all_fail_the_search_fails_with_all_reasons() -> None:
    """None that answered is an error; none that found anything is not."""
    down, empty = Fixed("down", SearchFailed("down: no connection")), Fixed("empty")

    gone = Fixed("gone", SearchFailed("gone: it answered 404"))

    with pytest.raises(SearchFailed, match="down: no connection; gone: it answered 404"):
        await Together("web", [down, gone]).search("q", limit=5, lang="en")
    assert urls(await Together("web", [empty, down]).search("q", limit=5, lang="en")) == []


async def test_the_next_one_answers_where_the_first_fails_or_finds_nothing() -> None:
    """An empty result counts as a failure; the sources after the first answer are not asked."""
    down, empty = Fixed("down", SearchFailed("down: no connection")), Fixed("empty")
    good, idle = Fixed("good", ["https://good.example"]), Fixed("idle", ["https://idle.example"])

    results = await FirstOf("web", [down, empty, good, idle]).search("q", limit=5, lang="en")

    assert urls(results) == ["https://good.example"]
    assert results.failures == {"down": "down: no connection"}
    assert not idle.asked


async def test_if_nobody_finds_anything_it_says_so_or_why() -> None:
    """One that searched and found nothing makes it an answer; otherwise it is a failure."""
    down, empty = Fixed("down", SearchFailed("down: no connection")), Fixed("empty")

    assert urls(await FirstOf("web", [down, empty]).search("q", limit=5, lang="en")) == []
    with pytest.raises(SearchFailed, match="down: no connection"):
        await FirstOf("web", [down]).search("q", limit=5, lang="en")


async def test_what_was_found_is_told_again_until_it_is_old() -> None:
    """The same query in other letters is not asked again within its time; another number or language is."""
    now = 1_000_000.0
    source = Fixed("web", ["https://a.example"])
    bounded = Bounded(source, 5, SearchCache(lambda: now, seconds=60))

    first = await bounded.search("Tall  Ships", limit=5, lang="en")
    again = await bounded.search("tall ships", limit=5, lang="en")
    await bounded.search("tall ships", limit=5, lang="ru")
    now += 61
    await bounded.search("tall ships", limit=5, lang="en")

    assert list(again.documents) == list(first.documents)
    assert source.asked == ["Tall  Ships", "tall ships", "tall ships"]


async def test_forgetting_empties_the_cache_and_it_holds_no_query(tmp_path: Path) -> None:
    """Neither the cache nor the database has the words of a query; after any `forget` it is asked anew."""
    path = tmp_path / "dialogs.db"
    async with SqliteBackend(f"sqlite:///{path}").open() as memory, cached(memory) as cache:
        source = Fixed("web", ["https://found.example"])
        bounded = Bounded(source, 5, cache)
        await bounded.search("my secret illness", limit=5, lang="en")
        assert "secret illness" not in str(vars(cache))
        await memory.forget_person("ann")
        await bounded.search("my secret illness", limit=5, lang="en")

    assert len(source.asked) == 2
    assert b"secret illness" not in path.read_bytes()
    assert b"found.example" not in path.read_bytes()


def test_a_plan_reads_like_it_is_written() -> None:
    """A comma separates, `+` asks at once, `>` asks instead, `name:` names."""
    plans = read_plans("documents, web: searxng + ddgs > wikipedia,news")

    assert [(plan.name, plan.alternatives) for plan in plans] == [
        ("documents", (("documents",),)),
        ("web", (("searxng", "ddgs"), ("wikipedia",))),
        ("news", (("news",),)),
    ]


@pytest.mark.parametrize("text", ["a b", "web: > a", "a +", "A", "x, x", ": a", "news: a, news"])
def test_a_wrong_plan_is_refused(text: str) -> None:
    """A word that is no name, a missing one, or the same name twice."""
    with pytest.raises(ValueError, match=r"is not a name|a name of its own"):
        read_plans(text)


async def test_passages_of_a_page_are_told_apart() -> None:
    """Sections, pages of a PDF file and passages of a page stand each for themselves, whatever address they share."""
    url = "https://docs.example/manual.pdf#page={}"
    parts = [FoundDocument(f"Page {it}", "Manual", url.format(it), "documents", part=f"page={it}") for it in (1, 2, 2)]

    assert [document.text for document in fused([parts, parts[1:]])] == ["Page 2", "Page 1"]


def test_the_same_page_has_one_address() -> None:
    """Scheme, www, port, tracking, order and fragment do not make another page; other parameters do."""
    spellings = [
        "https://www.shop.example/a/?b=2&a=1",
        "http://shop.example:80/a?a=1&b=2&utm_source=mail#top",
        "https://SHOP.example./a?a=1&fbclid=x&b=2",
    ]

    assert {canonical(url) for url in spellings} == {"https://shop.example/a?a=1&b=2"}
    assert canonical("https://shop.example/a?a=2") != canonical("https://shop.example/a?a=1")
    assert canonical("manual/a.md#one") != canonical("manual/a.md#two")
