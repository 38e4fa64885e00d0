"""The mapping of an answer: results, every kind of view, pages and forms; a service can break none of them."""

from typing import Any

import pytest

from agents.events.views import LONGEST_FIELD, MOST_ENTRIES, CardList, Document, Link, Notice, Player, Table
from agents.language.identifiers import Aliases
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.result import TooMany
from app.plugins.remote_tools.answer import NoAnswer, answer_of, fill
from app.plugins.remote_tools.files import HttpTool
from app.plugins.remote_tools.tool_spec import FormField, Result, form_of


def tool(**parts: Any) -> HttpTool:
    """Return a tool with these parts."""
    return HttpTool.model_validate(
        {"name": "show", "speaker": "planner", "description": "Show it.", "path": "/it", **parts}
    )


THING = {"name": "Song", "url": "https://shop.example/1", "at": 61.0, "tags": ["a", "b"], "by": {"name": "Ann"}}
VIEWS = [
    ({"kind": "link", "title": "{name}", "url": "{url}"}, Link(title="Song", url="https://shop.example/1")),
    ({"kind": "notice", "message": "{name} by {by.name}{gone}"}, Notice(message="Song by Ann")),
    ({"kind": "document", "title": "{name}.txt", "content": "{tags}"}, Document(title="Song.txt", content="a, b")),
    (
        {"kind": "player", "title": {"en": "{name}", "ru": "Песня"}, "state": "playing", "position": "{at}"},
        Player(title="Song", state="playing", position=61),
    ),
    (
        {"kind": "table", "each": "[@]", "columns": [{"title": {"en": "Tune", "ru": "Песня"}, "cell": "{name}"}]},
        Table(columns=["Tune"], rows=[["Song"]]),
    ),
    ({"kind": "link", "title": "x", "url": "javascript:{name}"}, None),
    ({"kind": "link", "url": "http://[{name}", "title": "x"}, None),
    ({"kind": "player", "title": "{name}", "state": "{by.name}"}, None),
    ({"kind": "cards", "each": "none", "label": "x"}, None),
]


@pytest.mark.parametrize(("spec", "view"), VIEWS, ids=lambda value: str(value)[:30])
def test_a_view_is_made_of_an_object(spec: dict[str, Any], view: object) -> None:
    """Each kind of view is filled from the object; unusable parts are left out, and the result stays."""
    text, outcome = answer_of(tool(view=spec), THING, "en")
    assert outcome.view == view
    assert '"name":"Song"' in text


def test_a_view_of_too_much_is_cut() -> None:
    """Long texts, long lists and addresses that are none are cut or left out."""
    rows = [{"name": "x" * 5000, "url": "javascript:alert(1)"}] * 80
    spec = {"kind": "cards", "label": "{name}", "url": "{url}"}
    _, outcome = answer_of(tool(view=spec), rows, "en")
    assert isinstance(outcome.view, CardList)
    assert len(outcome.view.entries) == MOST_ENTRIES
    assert {len(entry.label) for entry in outcome.view.entries} == {LONGEST_FIELD}
    assert {entry.url for entry in outcome.view.entries} == {""}


CHOOSING = {"kind": "selector", "options": {"ask": "Which?", "label": "{name}"}}
MANY = [{"name": f"song {number}"} for number in range(120)]


def test_too_many_candidates_are_narrowed_down() -> None:
    """A model that gives an argument reads the number of candidates, so that a part does not pass for the whole."""
    given = {"word": {"in": "query", "description": "A word of it."}, "size": {"in": "query", "fixed": 20}}
    with pytest.raises(TooMany) as crowd:
        answer_of(tool(parameters=given, **CHOOSING), MANY, "en")
    assert crowd.value.count == 120


@pytest.mark.parametrize(
    ("lang", "prompt"), [("en", "Which? (the first 50 of 120)"), ("ru", "Which? (первые 50 из 120)")]
)
def test_too_many_candidates_are_counted(lang: str, prompt: str) -> None:
    """Without a way to narrow them down the first ones are offered, and user and model read the total."""
    _, outcome = answer_of(tool(parameters={"size": {"in": "query", "fixed": 20}}, **CHOOSING), MANY, lang)
    assert outcome.question is not None
    assert (outcome.question.prompt, len(outcome.question.options)) == (prompt, MOST_ENTRIES)


def test_templates_know_nothing_but_names() -> None:
    """A template fills in values unchanged; a value's text is no template again."""
    data = {"a": "{b}", "b": 1, "c": {"d": True}, "e": None}
    assert fill("{a} {b} {c.d} {e}{f.g}{b.c} {0[x]} {a!r} {b:>9}", data) == "{b} 1 true  {0[x]} {a!r} {b:>9}"


def test_an_empty_answer_is_done_or_nothing() -> None:
    """A write that answers nothing is done; a read that answers nothing is null."""
    assert answer_of(tool(method="POST"), None, "en")[0] == "Done."
    assert answer_of(tool(), None, "en")[0] == "null"


def test_a_breaker_sends_the_user_to_a_page() -> None:
    """The service gives the address of the page; one that cannot be opened is a failure."""
    paying = tool(kind="breaker", page={"ask": {"en": "Please pay {name}.", "ru": "Оплатите."}, "url": "{url}"})
    question = answer_of(paying, THING, "en")[1].question
    assert question is not None
    assert (question.prompt, question.url) == ("Please pay Song.", "https://shop.example/1")
    with pytest.raises(NoAnswer):
        answer_of(paying, {"url": "file:///etc/passwd"}, "en")


def test_a_breaker_says_where_its_page_ends() -> None:
    """The return address may hold values of the answer; one that names no parameter is a failure."""
    page = {"ask": "Please pay.", "url": "{url}", "back": "https://shop.example/end?state={state}&code="}
    paying = tool(kind="breaker", page=page)
    question = answer_of(paying, {"url": "https://shop.example/1", "state": 7}, "en")[1].question
    assert question is not None
    assert question.back == "https://shop.example/end?state=7&code="
    with pytest.raises(NoAnswer):
        answer_of(tool(kind="breaker", page={**page, "back": "{url}"}), {"url": "https://shop.example/1"}, "en")


@pytest.mark.parametrize("path", ["sum(orders)", "orders[].to_number(x) | sort(@)", "length(name.at)"])
def test_an_answer_of_another_shape_is_a_failure(path: str) -> None:
    """An expression that does not fit what came is a failure of the service, not of the turn."""
    with pytest.raises(NoAnswer):
        answer_of(tool(result={"object": path}), {"orders": 5, "name": {"at": 1}}, "en")


def test_a_blank_that_is_not_required_may_be_left_out() -> None:
    """A form's field has to be filled in, unless it is said not to be required."""
    form = form_of("form", {"street": FormField(), "floor": FormField(type="integer", required=False)})
    assert stored_fields(form)["optional"] == ["floor"]


def test_a_file_of_http_tools_marks_names() -> None:
    """The description of a service's tool marks the names of members like any value."""
    names = {"type": "string", "opaque": "order"}
    described = Result.model_validate({"schema": {"type": "object", "propertyNames": names}})

    assert described.schema_ is not None
    assert Aliases().hide({"u1": 5}, described.schema_) == {"1": 5}
