"""The lab's pages: who may see them, that nothing becomes HTML, and that all languages say the same."""

import re
import threading
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from agents.memory.preferences import Preferences
from app.assistant import Assistant
from app.doors.http.pages.guard import user_of
from app.plugins.lab.cases import Case, CaseTurn
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.mocks import Mock, MockOutcome
from app.plugins.lab.pages.router import PAGES
from app.plugins.lab.pages.visit import PARTS
from app.plugins.lab.reasons import problem_text
from app.plugins.lab.runs import CaseResult, LabRun, TurnResult
from app.plugins.lab.threads import view
from app.security.api_keys import EVERYTHING
from app.settings import Settings
from app.yaml_file import read_yaml
from prompts import retold, sentence, table
from tests.plugins.lab.pages.conftest import BY_PAGE, LAB, outcome, visiting
from tests.support.http_door import SHOP

pytestmark = pytest.mark.needs("planner", "standin")
THREAD = "/lab/thread?name=shop:ann"
LAB_CODE = Path("app/plugins/lab")
TEMPLATES = LAB_CODE / "pages/templates"


@pytest.mark.needs("page")
async def test_only_keys_with_the_scope_come_in(assistant: Assistant, settings: Settings) -> None:
    """No session is led to sign in, a key without the scope is refused everywhere, one with it sees every thread."""
    paths = {str(getattr(route, "path", "")) for part in PAGES for route in part.routes}
    paths.remove("/lab/static/{name}")
    assert len(paths) > 3
    async with visiting(assistant, settings, "") as nobody:
        assert (await nobody.get("/lab")).headers["hx-redirect"] == "/sign-in"
    async with visiting(assistant, settings, SHOP) as shop:
        for path in paths:
            for method in ("GET", "POST"):
                assert (await shop.request(method, path)).status_code in (403, 405), path
    async with visiting(assistant, settings, LAB) as tutor:
        assert (await tutor.get("/lab")).status_code == 200
        assert "what is on my list?" in (await tutor.get(THREAD)).text
        assert (await tutor.get("/talk/day")).status_code == 403


async def test_headers_and_foreign_forms(lab: httpx.AsyncClient) -> None:
    """A page of the lab runs no line of its own and loads nothing from outside; another site cannot write."""
    page = await lab.get(THREAD)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page.text)
    assert all(link.startswith(("/", "#")) for link in re.findall(r'(?:src|href)="([^"]+)"', page.text))
    for name in re.findall(r'"(/lab/static/lab\.[^"]+)"', page.text):
        assert (await lab.get(name)).status_code == 200
    del lab.headers["HX-Request"]
    foreign = await lab.post("/lab/thread/back", data={"name": "shop:ann", "turn": "1"})
    assert foreign.status_code == 403


async def test_a_broken_file_leaves_the_others_in_sight(lab: httpx.AsyncClient) -> None:
    """The page tells the fault of an edited file, beside the sound files."""
    folder = lab_folder()
    folder.write("cases", "sound", Case(turns=(CaseTurn(user="hi"),)))
    for kind, address in (("cases", "/lab/runs"), ("mocks", "/lab/mocks")):
        (folder.root / kind).mkdir(exist_ok=True)
        (folder.root / kind / "broken.yaml").write_text("<<<<<<< ours", "utf-8")
        page = await lab.get(address)
        assert (page.status_code, "broken.yaml" in page.text) == (200, True)
    assert "/lab/case?name=sound" in (await lab.get("/lab/runs")).text


async def test_files_are_read_beside_the_loop(
    lab: httpx.AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that shows many files, or a long one, keeps nobody's answer waiting."""
    folder, threads = lab_folder(), list[threading.Thread]()
    folder.write("cases", "hello", Case(turns=(CaseTurn(user="hello"),)))
    folder.write("mocks", "clock", Mock(tool="current_time"))
    folder.write("runs", "one", LabRun(begun="2026-11-20", results=(CaseResult(case="hello", variant="as set"),)))

    def read(text: str, *, aliases: bool) -> object:
        threads.append(threading.current_thread())
        return read_yaml(text, aliases=aliases)

    monkeypatch.setattr("app.yaml_file.read_yaml", read)
    for path in ("runs", "run?name=one", "case?name=hello", "mocks", "mock?name=clock", "desk"):
        assert (await lab.get(f"/lab/{path}")).status_code == 200
    assert len(threads) == 5
    assert threading.main_thread() not in threads


def _keys(entries: dict[str, Any], before: str = "") -> set[str]:
    inner = (_keys(value, f"{key}.") for key, value in entries.items() if isinstance(value, dict))
    return {f"{before}{key}" for key, value in entries.items() if isinstance(value, str)}.union(*inner)


def test_each_sentence_that_a_template_names_is_there() -> None:
    """And none is idle."""
    english = _keys(table("lab/phrases", "en"))
    sources = [
        path.read_text("utf-8") for path in [*TEMPLATES.rglob("*.html"), *Path("app/plugins/lab/pages").glob("*.py")]
    ]
    named = {key for text in sources for key in re.findall(r"""\bt(?:ext)?\(["']([\w.]*\w)["']""", text)}
    others = {call for text in sources for call in re.findall(r"\bt\(([^()]* else [^()]*)\)", text)}
    named |= {key for call in others for key in re.findall(r"""else ["']([\w.]+)["']""", call)}
    named = {key for key in named if not key.endswith("_")}
    assert named - english <= _keys(table("page", "en"))
    sections = {key for text in sources for key in re.findall(r"""\bt\(["'](\w+)\.["'] ~""", text)}
    sections |= {
        "test",
        "gate",
        "any_criterion",
        "sample",
        "sample_again",
        "unusable_model",
        "settings_alone",
    }  # Not named by a template.
    refusals = [
        key for path in LAB_CODE.rglob("*.py") for key in re.findall(r'LabRefusal\("(\w+)"', path.read_text("utf-8"))
    ]
    named |= {f"refused.{key}" for key in refusals}
    idle = {key for key in english if key not in named and key.partition(".")[0] not in sections}
    assert idle == set()
    assert {f"part.{part}" for part in PARTS} | {f"about.{part}" for part in PARTS} <= english


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        (
            "ru",
            (
                "нити «nobody» нет",
                "строчных",
                "задайте желания",
                "модель из правил",
                "нужен инструмент",
                "параметра нет",
            ),
        ),
        (
            "zh",
            (
                "没有会话“nobody”",
                "小写拉丁字母",
                "请填写愿望",
                "由规则构成的模型",
                "需要工具名",
                "没有这个参数",
            ),
        ),
    ],
)
async def test_refusals_in_the_visitors_language(
    lab: httpx.AsyncClient, assistant: Assistant, lang: str, words: Sequence[str]
) -> None:
    """Refusals at once, of a form, or of work in the background are in the language of the pages."""
    await Preferences(lang=lang).save(assistant.memory.store, user_of(EVERYTHING))
    answers = [
        await lab.get("/lab/thread?name=nobody"),
        await lab.post("/lab/case", data={"file": "../x", "turns[].user": "a"}),
        await lab.post("/lab/user", data={"file": "x", "goal": "to leave"}),
        await lab.post("/lab/runs", data={"judge": "local:x"}),
        await lab.post("/lab/case", data={"file": "x", "turns[].user": "a", "turns[].expect.calls:lines": "add {"}),
        await lab.post("/lab/text", data={"kind": "card", "name": "list_todos", "lang": "en", "text": "- {nothing}"}),
    ]
    for answer, piece in zip(answers, words, strict=True):
        assert (answer.status_code, piece in answer.text) == (409, True), answer.text
    del lab.headers["HX-Request"]
    assert words[0] in unescape((await lab.get("/lab/thread?name=nobody")).text)
    lab.headers.update(BY_PAGE)
    failed = await outcome(lab, await lab.post("/lab/runs"))
    assert table("lab/phrases", lang)["refused"]["no_case"] in failed.text


@pytest.mark.parametrize("lang", ["ru", "zh"])
async def test_what_is_kept_in_english_is_told_in_the_visitors_language(
    lab: httpx.AsyncClient, assistant: Assistant, lang: str
) -> None:
    """Reasons of a thread, problems of a run, and what is wrong with a file, which names no folder of the server."""
    await Preferences(lang=lang).save(assistant.memory.store, user_of(EVERYTHING))
    folder = lab_folder()
    turn = TurnResult(user="hi", problems=(problem_text("no_answer"),))
    folder.write("runs", "one", LabRun(begun="2026", results=(CaseResult(case="a", variant="A", turns=(turn,)),)))
    folder.write("mocks", "clock", Mock(tool="current_time", outcomes=(MockOutcome(when={"a": 1}, text="late"),)))
    (folder.root / "cases").mkdir()
    for name, text in (("broken", "turns: [}"), ("empty", "turns: []")):
        (folder.root / f"cases/{name}.yaml").write_text(text, "utf-8")
    pages = {path: unescape((await lab.get(f"/lab/{path}")).text) for path in ("run?name=one", "mocks", "runs")}
    assert sentence("lab/problems", "no_answer", lang) in pages["run?name=one"]
    assert sentence("lab/mocks", "fixed", lang) in pages["mocks"]
    refusals = [
        sentence("form_errors", "yaml.syntax", lang, line=1),
        sentence("form_errors", "too_short", lang, min_length=1),
    ]
    for words in ("cases/broken.yaml: " + refusals[0], "cases/empty.yaml: turns: " + refusals[1]):
        assert words in pages["runs"]
    assert str(folder.root) not in pages["runs"]
    reasons = {made.reason for turn in (await view(assistant, "shop:ann"))[1] for made in turn.decisions}
    page = unescape((await lab.get(THREAD)).text)
    assert {retold("reasons", reason, lang) for reason in reasons}.isdisjoint(reasons)
    assert all(retold("reasons", reason, lang) in page for reason in reasons), reasons
