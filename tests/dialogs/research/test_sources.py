"""Sources on the web: what is asked of each service, and what is made of its answer."""

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.memory.sqlite_file import SqliteBackend
from agents.sources.web.fetcher import Fetcher
from app.cli import command_line
from app.settings import read
from dialogs.research import retrievers
from dialogs.research.index import DocumentIndex
from dialogs.research.retrievers import FoundDocument, Image, Retriever, RetrieverServices, SearchFailed
from dialogs.research.retrievers.web_research import best
from dialogs.research.settings import ResearchSettings, read_plans
from tests.dialogs.research.opened import opened
from tests.support.http_service import Answer, Service
from tests.support.places import ROOT
from tests.support.search_servers import AIMOCK, NODE, SEARX, searx, tavily

HOSTILE = {"url": "javascript:alert(1)", "title": "x", "content": "y"}


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """Return a fetcher with its connections."""
    async with Fetcher(timeout=60) as opened:
        yield opened


def source(name: str, fetcher: Fetcher, **more: Any) -> Retriever:
    """Return a retriever of `dialogs/research/retrievers/`, made of these settings."""
    return retrievers.discover()[name].make(name, RetrieverServices(DocumentIndex(Path("unused")), fetcher, **more))


@pytest.mark.slow
@pytest.mark.skipif(SEARX is None, reason="needs Debian's package searx")
async def test_a_real_search_server_gives_pages_and_pictures(tmp_path: Path, fetcher: Fetcher) -> None:
    """Debian's searx over local data: pages with plain texts, pictures with their sizes; no hit is no failure."""
    rows = [
        ("https://ships.example/tall", "Tall <b>ships</b>", "A tall ship is large.", "", "", ""),
        ("https://ships.example/race", "Race", "Each ship races.", "", "", ""),
        *[("https://ships.example/p", "Hull", "A ship.", "https://x.example/a.png", "//x.example/s.png", "1200x800")],
    ]
    async with searx(tmp_path, rows) as url:
        pages = await source("searxng", fetcher, searxng_url=url).search("ship", limit=5, lang="en")
        pictures = await source("images", fetcher, searxng_url=url).search("ship", limit=5, lang="ru")
        nothing = await source("web", fetcher, searxng_url=url).search("gardening", limit=5, lang="en")

    assert [(page.title, page.text, page.url) for page in pages.documents] == [
        ("Tall ships", "A tall ship is large.", "https://ships.example/tall"),
        ("Race", "Each ship races.", "https://ships.example/race"),
    ]
    [picture] = pictures.documents
    assert picture.image == Image(
        "https://x.example/a.png", "Hull", "https://x.example/s.png", 1200, 800, "image/png", "https://ships.example/p"
    )
    assert list(nothing.documents) == []


@pytest.mark.slow
@pytest.mark.skipif(AIMOCK is None or NODE is None, reason="needs npm's @copilotkit/aimock")
async def test_a_mock_of_tavily_takes_our_requests(fetcher: Fetcher) -> None:
    """aimock's Tavily, which refuses what is not of its wire format; it gives no more than was asked for."""
    ships = [
        {"title": f"Ship {number}", "url": f"https://ships.example/{number}", "content": "Sails.", "score": 0.9}
        for number in range(5)
    ]
    async with tavily({"ships": ships}) as url:
        made = source("tavily", fetcher, tavily_url=url, tavily_key=SecretStr("k"))
        result = await made.search("tall ships", limit=3, lang="en")
        nothing = await made.search("gardening", limit=3, lang="en")

    assert [(page.title, page.text, page.url) for page in result.documents] == [
        (f"Ship {number}", "Sails.", f"https://ships.example/{number}") for number in range(3)
    ]
    assert list(nothing.documents) == []


async def test_searxng_is_asked_by_category_and_its_html_becomes_text(fetcher: Fetcher) -> None:
    """Tags, escaped tags, control characters and dangerous addresses do not come through."""
    row = {
        "url": "https://a.example/?q=1",
        "title": "A <b>title</b> &amp; more",
        "content": "&lt;img src=x onerror=alert(1)&gt;Text\x1b[31m\u202e",
        "publishedDate": "2026-11-20T10:00:00",
    }
    async with Service.open(Answer({"results": [HOSTILE, row, "nonsense", {"url": 5}]})) as service:
        result = await source("news", fetcher, searxng_url=service.url).search("q w", limit=5, lang="ru")

    [document] = result.documents
    assert (document.title, document.text) == ("A title & more", "Text")
    assert (document.published, document.retriever) == ("2026-11-20", "news")
    assert service.asked[0].target == "/search?q=q+w&format=json&language=ru&categories=news&safesearch=1"


@pytest.mark.slow
@pytest.mark.skipif(SEARX is None, reason="needs Debian's package searx")
async def test_research_reads_the_pages_that_a_real_server_names(tmp_path: Path) -> None:
    """By the settings: searx finds a page, it is fetched, its passage answers, twice from one visit."""
    body = f"<title>Knots</title><p>{'Many boats lie here. ' * 90}</p><p>A bowline makes a loop.</p>".encode()
    async with Service.open(Answer(body, kind="text/html")) as site:
        row = (f"{site.url}/knots", "Knots", "About a bowline", "", "", "")
        async with searx(tmp_path, [row]) as url:
            settings = ResearchSettings(
                search_sources=read_plans("web_research"),
                searxng_url=url,
                search_internal=(site.url,),
                search_timeout=20,
            )
            async with (
                SqliteBackend(f"sqlite:///{tmp_path}/d.db").open() as memory,
                opened(memory, settings) as made,
            ):
                [result, again] = [await made["web_research"].search("bowline", limit=2, lang="en") for _ in range(2)]

    assert "A bowline makes a loop." in result.documents[0].text
    assert result.documents[0].url == f"{site.url}/knots"
    assert again == result
    assert len(site.asked) == 1


async def test_tavily_gets_its_key_and_gives_news_and_pictures(fetcher: Fetcher) -> None:
    """The key stands in a header; news have a topic, pictures their description."""
    news = {"title": "N", "url": "https://n.example", "content": "c", "published_date": "Fri, 20 Nov 2026 10:00:00 GMT"}
    picture = {"url": "https://p.example/a.jpg?w=9", "description": "A cat"}
    async with Service.open(Answer({"results": [news]}), Answer({"results": [], "images": [picture]})) as service:
        more = {"tavily_url": service.url, "tavily_key": SecretStr("secret")}
        contents = await source("news", fetcher, **more).search("q", limit=50, lang="en")
        shown = await source("images", fetcher, **more).search("q", limit=2, lang="en")

    assert contents.documents[0].published == "2026-11-20"
    assert shown.documents[0].image == Image(
        "https://p.example/a.jpg?w=9", "A cat", "", None, None, "image/jpeg", "https://p.example/a.jpg?w=9"
    )
    assert service.asked[0].headers["authorization"] == "Bearer secret"
    assert (service.asked[0].body["topic"], service.asked[0].body["max_results"]) == ("news", 20)
    assert service.asked[1].body["include_images"] is True


@pytest.mark.parametrize("date", ["yesterday", "0", f"Fri, 20 Nov {'9' * 20} 10:00:00 GMT"])
async def test_a_date_that_is_none_is_left_out(fetcher: Fetcher, date: str) -> None:
    """A wrong date of one result costs no other result."""
    news = {"title": "N", "url": "https://n.example", "content": "c", "published_date": date}
    async with Service.open(Answer({"results": [news]})) as service:
        made = source("news", fetcher, tavily_url=service.url, tavily_key=SecretStr("secret"))
        [document] = (await made.search("q", limit=5, lang="en")).documents

    assert document.published is None


def test_pages_without_a_word_of_the_query_are_not_lost() -> None:
    """A search knows other words and languages: what it found is told, the beginning of each page."""
    contents = [
        *(
            FoundDocument(f"A tall ship, {part}.", "Ships", "https://a.example", "web", part=str(part))
            for part in range(3)
        ),
        FoundDocument("Sails.", "Sails", "https://b.example", "web"),
    ]
    assert best("парусник", contents, 5, "ru") == [contents[0], contents[3]]


async def test_wikipedia_is_asked_in_the_language_of_the_conversation(fetcher: Fetcher) -> None:
    """Articles come in the order of the search, with the address that a reader can open."""
    pages = [
        {"title": "Second", "index": 2, "extract": "Two."},
        {"title": "Большой парусник", "index": 1, "extract": "Судно."},
        {"title": "Empty", "index": 3},
    ]
    async with Service.open(Answer({"query": {"pages": pages}})) as service:
        root = f"{service.url}/{{lang}}"
        result = await source("wikipedia", fetcher, wikipedia_url=root).search("парусник", limit=5, lang="ru")

    contents = [(page.title, page.text) for page in result.documents]
    assert contents == [("Большой парусник", "Судно."), ("Second", "Two.")]
    assert result.documents[0].url.startswith(f"{service.url}/ru/wiki/%D0%91")
    assert service.asked[0].target.startswith("/ru/w/api.php?action=query")
    assert "dialog-supervisor" in service.asked[0].headers["user-agent"]


async def test_public_engines_are_asked_by_their_package(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fields become ours; that it found nothing is no failure, that it was refused is one."""
    asked: list[tuple[str, dict[str, Any]]] = []
    answers: list[Any] = [
        [{"title": "T", "href": "https://t.example", "body": "B"}],
        [
            {
                "title": "P",
                "image": "https://t.example/p.webp",
                "thumbnail": "",
                "url": "https://t.example",
                "width": "9",
            }
        ],
    ]

    class Engines:
        def __init__(self, timeout: int) -> None:
            assert timeout == 60

        def text(self, query: str, **more: Any) -> Any:
            asked.append((query, more))
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        images = news = text

    import ddgs  # noqa: PLC0415
    from ddgs.exceptions import DDGSException, RatelimitException  # noqa: PLC0415

    answers += [DDGSException("No results found."), RatelimitException("202")]
    monkeypatch.setattr(ddgs, "DDGS", Engines)

    [page] = (await source("ddgs", fetcher).search("q", limit=3, lang="ru")).documents
    [picture] = (await source("images", fetcher).search("q", limit=3, lang="xx")).documents
    nothing = await source("news", fetcher).search("q", limit=3, lang="en")

    assert (page.title, page.text, page.url) == ("T", "B", "https://t.example")
    assert picture.image == Image("https://t.example/p.webp", "P", "", 9, None, "image/webp", "https://t.example")
    assert [more["region"] for _, more in asked] == ["ru-ru", "wt-wt", "us-en"]
    assert list(nothing.documents) == []
    with pytest.raises(SearchFailed, match="do not answer"):
        await source("ddgs", fetcher).search("q", limit=3, lang="en")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(status=403), "it answered 403"),
        (Answer(b"<html>", kind="text/html"), "not JSON"),
        (Answer(b'"' + b"x" * 2_100_000 + b'"'), "longer than"),
        (Answer(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "packed"),
        (Answer(status=302, headers={"Location": "http://169.254.169.254/"}), "it answered 302"),
    ],
)
async def test_a_failing_service_is_told_in_words(fetcher: Fetcher, answer: Answer, reason: str) -> None:
    """The message says which source and what, and never where it is or with which key."""
    async with Service.open(answer) as service:
        made = source("tavily", fetcher, tavily_url=service.url, tavily_key=SecretStr("secret"))
        with pytest.raises(SearchFailed, match=reason) as failed:
            await made.search("q", limit=3, lang="en")

    assert "secret" not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"SEARCH_SOURCES": "google"}, "SEARCH_SOURCES names 'google'"),
        ({"SEARCH_SOURCES": "documents, searxng"}, "searxng needs SEARXNG_URL"),
        ({"SEARCH_SOURCES": "web: ddgs > tavily"}, "tavily needs TAVILY_API_KEY"),
        ({"SEARXNG_URL": "ftp://x"}, "SEARXNG_URL"),
        ({"SEARCH_INTERNAL": "http://169.254.169.254"}, "SEARCH_INTERNAL"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start stops with a line that says what to do."""
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=named):
        read(ResearchSettings)


async def test_a_setting_combines_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once, one of them down, then the next: asked in this order, described for the model in its language."""
    hit = Answer({"results": [{"url": "https://a.example", "title": "A", "content": "text"}]})
    async with Service.open(Answer(status=500)) as down, Service.open(hit) as good:
        monkeypatch.setenv("SEARCH_SOURCES", "documents, web: wikipedia + searxng > tavily")
        monkeypatch.setenv("SEARXNG_URL", down.url)
        monkeypatch.setenv("WIKIPEDIA_URL", down.url)
        monkeypatch.setenv("TAVILY_URL", good.url)
        monkeypatch.setenv("TAVILY_API_KEY", "k")
        settings = ResearchSettings()
        async with (
            SqliteBackend(f"sqlite:///{tmp_path}/d.db").open() as memory,
            opened(memory, settings) as made,
        ):
            result = await made["web"].search("q", limit=3, lang="en")
            await made["web"].search("q", limit=3, lang="en")

    assert list(made) == ["documents", "web"]
    assert [document.retriever for document in result.documents] == ["tavily"]
    assert result.failures == {"wikipedia": "wikipedia: it answered 500", "searxng": "searxng: it answered 500"}
    assert (len(good.asked), len(down.asked)) == (1, 4)
    assert made["web"].reaches_out
    assert "Tavily" in made["web"].description("en")
    assert "энциклопедия" in made["web"].description("ru")


async def test_the_source_of_the_documentation_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that `dialogs/research/README.md` shows can be copied: it asks the service, and reads its answer."""
    [example] = re.findall(
        r"```python\n(.*?)```", (ROOT / "dialogs" / "research" / "README.md").read_text("utf-8"), re.DOTALL
    )
    ticket = {"title": "No sound", "body": "Turn it <i>on</i>.", "url": "https://tickets.example/7"}
    async with Service.open(Answer({"tickets": [ticket]})) as service, Fetcher(timeout=60) as fetcher:
        module = ModuleType("tickets")
        monkeypatch.setitem(sys.modules, "tickets", module)
        exec(example.replace("https://tickets.example/search", f"{service.url}/search"), module.__dict__)
        made = module.source.make("tickets", RetrieverServices(DocumentIndex(Path("unused")), fetcher))
        result = await made.search("sound", limit=3, lang="en")

    assert [(document.title, document.text, document.url) for document in result.documents] == [
        ("No sound", "Turn it on.", "https://tickets.example/7")
    ]
    assert service.asked[0].target == "/search?q=sound"


def test_check_names_a_source_that_lacks_a_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An operator sees a wrong setting among the faults."""
    monkeypatch.setenv("SEARCH_SOURCES", "documents, web: searxng > wikipedia")
    monkeypatch.setenv("LLM_MODEL", "local:rules")

    assert command_line.main(["check", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)

    assert any("searxng needs SEARXNG_URL" in fault for fault in report["faults"])


async def test_a_fresh_machine_answers_from_the_help_pages(tmp_path: Path) -> None:
    """Without any setting there is a source, which reaches nobody outside."""
    async with (
        SqliteBackend(f"sqlite:///{tmp_path}/dialogs.db").open() as memory,
        opened(memory, ResearchSettings()) as retrievers,
    ):
        [(name, retriever)] = retrievers.items()
        results = await retriever.search("how do I connect a model?", limit=3, lang="en")

    assert name == "documents"
    assert not retriever.reaches_out
    assert results.documents[0].url == "help/en#connecting-a-model"
    assert "LLM_MODEL" in results.documents[0].text
    assert results.documents[0].title == "Help › Connecting a model"
