"""The page's HTML: no text of a model, a tool or a user becomes HTML, and a restart changes nothing."""

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from agents.errors import ModelUnavailable
from agents.events import Error, Event, Images, Interrupt, Message, PrivateMessage, ShownImage, Token, ToolStart
from agents.events.views import CardList, Document, Entry, Link, Notice, Player, Table
from agents.state import SUPERVISOR
from agents.state.citations import Citation
from app.assistant import Assistant
from app.doors.http.pages.answer_renderer import AnswerRenderer
from app.doors.http.pages.markup import draw, markdown
from app.presentation.texts import tool_title
from app.testing.script import Call, Script
from prompts import table
from tests.support.http_door import served
from tests.support.page_visits import BY_PAGE, TALK, said
from tests.support.scripted_assistant import ROLES, stage
from tests.support.shop_tools import BEGIN, with_shop

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>"
SHARED = Path("app/doors/http/pages/templates")
ALLOWED = {
    *("article", "section", "div", "span", "p", "form", "fieldset", "legend", "input", "button", "label"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "h2", "a", "em", "strong"),
    *("details", "summary", "pre", "progress"),
}


ATTACKS: dict[str, Event] = {
    "text": Message(speaker="supervisor", text=ATTACK),
    "link": Message(speaker="supervisor", text="[x](javascript:alert(1)) ![y](data:text/html,z) <javascript:alert(1)>"),
    "speaker": Message(speaker=ATTACK, text="hello"),
    "token": Token(speaker="supervisor", text=ATTACK),
    "tool": ToolStart(speaker="supervisor", tool=ATTACK),
    "private": PrivateMessage(user="ann", text=ATTACK),
    "fault": Error(code="x", text=ATTACK),
    "question": Interrupt(id=ATTACK, kind="choice", prompt=ATTACK, options=[{"id": ATTACK, "label": ATTACK}]),
    "address": Interrupt(id="q", kind="page", prompt="open", url="javascript:alert(1)"),
    "fields": Interrupt(id="q", kind="form", prompt="fill", fields=[{"name": ATTACK, "label": ATTACK}]),
    "cards": CardList(title=ATTACK, entries=[Entry(ATTACK, ATTACK, "https://shop.example/?a=1&b=%22")]),
    "table": Table(title=ATTACK, columns=[ATTACK], rows=[[ATTACK]]),
    "notice": Notice(title=ATTACK, message=ATTACK, level="warning"),
    "view link": Link(title=ATTACK, url="https://shop.example"),
    "document": Document(title=ATTACK, content=ATTACK),
    "player": Player(title=ATTACK, state="playing", position=1, duration=2, volume=3),
    "images": Images(
        images=[
            ShownImage(
                url="javascript:alert(1)", title=ATTACK, thumbnail="", width=None, height=None, mime_type="", page=""
            )
        ]
    ),
}


class Tags(HTMLParser):
    """Collects what a browser takes for tags, and what they lead to."""

    def __init__(self, drawn: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(drawn)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src", "action")}


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("2*3*4 = 24", "2*3*4 = 24"),
        ("- [ ] milk\n- [x] tea", "<li>☐ milk</li>\n<li>☑ tea</li>"),
        ("### a\n# b\n#### c", '<h3 aria-level="2">a</h3>\n<h1 aria-level="2">b</h1>\n<h4 aria-level="3">c'),
        ("```python\n1\n```", '<pre tabindex="0" data-lang="python"><code>1\n</code></pre>'),
        ("see https://a.example/x_y_z.", 'href="https://a.example/x_y_z" '),
        ("(https://a.example)", ">https://a.example</a>)"),
    ],
)
def test_what_people_write_is_drawn(text: str, drawn: str) -> None:
    """Stars between numbers, tasks, code with its language and bare addresses are drawn as what they are."""
    assert drawn in markdown(text)


@pytest.mark.needs("planner", "orders", "seat")
@pytest.mark.parametrize("tool", ["list_todos", "list_orders", "call_a_person"])
def test_a_tool_is_called_the_same_whoever_calls_it(tool: str) -> None:
    """The supervisor answers by tools of dialogs, whose titles stand with the dialog."""
    titles = [tool_title(tool, SUPERVISOR, lang) for lang in ("en", "ru", "zh")]
    assert len(set(titles)) == 3
    assert tool.replace("_", " ").capitalize() not in titles


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_becomes_html(name: str) -> None:
    """Whatever an event holds stands on the page as text, and no link leads elsewhere than to the web."""
    drawing = AnswerRenderer("ann", "en")
    drawn = str(drawing.part(ATTACKS[name])) + str(drawing.progress())
    assert re.search("alert|data:text", drawn), drawn
    tags = Tags(drawn)
    assert tags.names <= ALLOWED
    assert not any(name.startswith("on") or name == "style" for name in tags.attributes)
    assert all(link.startswith(("https://", "http://")) for link in tags.links)


def test_what_the_user_said_is_text() -> None:
    """A message and what it quotes are escaped; a citation leads to its source."""
    assert "<script" not in draw("heard", "en", text=ATTACK, source="message", beside=[ATTACK])
    citation = Citation(title="Milk", url="https://milk.example/", number=0, start=4, end=7)
    forged = Citation(title=ATTACK, url="javascript:alert(1)", number=1, start=7, end=10)
    drawn = AnswerRenderer("ann", "en").part(
        Message(speaker="supervisor", text="milk[1][2]", citations=[citation, forged])
    )
    tags = Tags(str(drawn))
    assert tags.links == {"https://milk.example/"}
    assert tags.names <= ALLOWED
    assert "<sup" not in markdown("a <sup>b</sup>")
    table = markdown("| a |\n| ---: |\n| 1 |")
    assert ("style" in table, table.count('class="text-align-right"')) == (False, 2)


async def drawn_twice(assistant: Assistant, *texts: str) -> list[str]:
    """Say this on the page; return the page that is drawn then, and the one that another process draws."""
    pages = []
    for to_say in (texts, ()):
        async with served(assistant) as url, httpx.AsyncClient(base_url=url, headers=BY_PAGE, timeout=300) as client:
            for place, text in enumerate(to_say):
                await said(client, text=text, id=f"message-{place}")
            pages.append((await client.get(TALK)).text)
    return pages


@pytest.mark.needs("page", "planner")
async def test_old_answers_after_a_restart(assistant: Assistant, script: Script) -> None:
    """Another process's answers keep their look: the Markdown, the failure with the way on, the question."""
    delete = Call("delete_todos", {"numbers": [1, 2]})
    script.add(
        supervisor=["Good **morning**.", ModelUnavailable("busy", "m"), Call("plan_things", {"brief": "list"})],
        planner=[Call("add_todos", {"items": ["milk", "tea"]}), "Noted.", delete],
    )
    for log in await drawn_twice(assistant, "hello", "and now?", "add milk and tea", "delete both"):
        assert "<strong>morning</strong>" in log
        assert log.count("data-again") == log.count('class="fault"') == 1
        assert log.count("<fieldset>") == 1
        assert "Noted." in log


@pytest.mark.needs("page", "planner")
async def test_old_cards_and_steps_after_a_restart(tmp_path: Path, script: Script) -> None:
    """Another process draws the steps and views of tools like the process that answered."""
    find, send = Call("find_orders", {"name": "e"}), Call("submit_return", {"order": "order_9"})
    back = Call("hand_back", {"reason": "greeting"})
    script.add(
        supervisor=[*BEGIN, "Good **morning**."],
        planner=["Which one?", find, "Here they are.", send, "There is no such order.", back],
    )
    async with stage(tmp_path / "shop.db", script.models(ROLES), change=with_shop) as assistant:
        first, second = await drawn_twice(assistant, "send it back", "which ones are there?", "the ninth", "hello")
    assert first == second
    for shown in ("Blue shoes</", "60 EUR", "<strong>morning</strong>"):
        assert shown in second
    assert "1. Blue shoes" not in second


@pytest.mark.needs("page", "planner")
async def test_a_step_that_the_user_calls_off(assistant: Assistant, script: Script) -> None:
    """A no to a question cancels its step; that is no failure, and another process draws it the same."""
    delete = Call("delete_todos", {"numbers": [1, 2]})
    script.add(supervisor=[Call("plan_things", {"brief": "list"})])
    script.add(planner=[Call("add_todos", {"items": ["milk", "tea"]}), "Noted.", delete, "They stay."])
    drawn = await drawn_twice(assistant, "add milk and tea", "delete both", "no")
    assert [("(cancelled)" in page, "(did not work)" in page) for page in drawn] == [(True, False)] * 2


def test_each_sentence_that_a_template_names_is_there() -> None:
    """The table of all pages has it."""
    templates = "".join(path.read_text("utf-8") for path in SHARED.rglob("*.html"))
    assert {*re.findall(r"""\bt\(["'](\w+)""", templates)} <= {*table("page", "en")}


def test_each_template_that_another_names_is_there() -> None:
    """A template finds those of its own folder, and behind them those of all pages, and no other."""
    shared = {path.name for path in SHARED.iterdir()}
    for folder in (SHARED, *Path("app/plugins").rglob("templates")):
        templates = "".join(path.read_text("utf-8") for path in folder.rglob("*.html"))
        named = {*re.findall(r"""{% (?:extends|from|include) ["']([\w./]+)["']""", templates)}
        assert named <= {path.name for path in folder.iterdir()} | shared, folder
