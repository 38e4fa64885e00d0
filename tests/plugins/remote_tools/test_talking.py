"""Tools of HTTP services, described in a file, in conversations with a real server."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.events import Interrupt, trace
from agents.events.views import CardList, Notice
from app.assistant import Turn
from app.composition import open_assistant
from app.settings import Settings
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase, sentence
from tests.plugins.remote_tools.remote_files import BEGIN, FOUND, ORDERS, Open, opened, shop
from tests.support.http_service import Answer, Service

pytestmark = pytest.mark.slow


async def test_a_service_is_a_tool(chat: Chat, service: Open) -> None:
    """The model reads the mapped object with numbers for identifiers; the user sees the view."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e & co/ü"}), "Two."])
    async with service(Answer(ORDERS)) as asked:
        assert told(f"""
            user: What did I buy here?
            supervisor -> planner
            planner.find_orders(word='e & co/ü') = {FOUND}
            view: cards Your orders
            planner: Two.
        """) == await chat.says("What did I buy here?")
    [cards] = [event for event in chat.events if isinstance(event, CardList)]
    assert [(entry.label, entry.detail, entry.id) for entry in cards.entries] == [
        ("Blue shoes", "60 €", "0b7e-6f0a"),
        ("Red hat", "15 €", "5f0c-2d9e"),
    ]
    [request] = asked.asked
    assert request.target == "/api/v1/users/ann/orders?q=e+%26+co%2F%C3%BC&page_size=20"
    assert (request.headers["authorization"], request.headers["accept-language"]) == ("Bearer s3cret", "en")


async def test_what_the_system_sets_no_model_sees(chat: Chat, service: Open) -> None:
    """Trusted and fixed values and secrets are in no prompt; a call that sets one is refused and never sent."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e", "user": "bob"}), "I cannot."])
    async with service(Answer(ORDERS)) as asked:
        trace = await chat.says("What did Bob order?", thread="user-77")

    assert phrase("tool_forged", "en", names="user", allowed="word") in trace
    assert asked.asked == []
    shown = [prompt.prefix for prompt in chat.script.asked]
    assert not [text for text in shown if "s3cret" in text or "user-77" in text or "page_size" in text]


async def test_a_trusted_header_takes_any_name(chat: Chat, service: Open) -> None:
    """A user whose id is not ASCII is told to the service in escaped form."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), "Two."])
    async with service(Answer(ORDERS), headers={"X-User": {"trusted": "user"}}) as asked:
        assert FOUND in await chat.says("What did I buy here?", user="анна")

    [request] = asked.asked
    assert request.headers["x-user"] == "%D0%B0%D0%BD%D0%BD%D0%B0"
    assert request.target.startswith("/api/v1/users/%D0%B0%D0%BD%D0%BD%D0%B0/orders")


async def test_a_description_is_in_the_users_language(chat: Chat, service: Open) -> None:
    """The model is told of a remote tool in the language of the conversation, as the file has it."""
    chat.expects(supervisor=BEGIN, planner=["Слушаю."])
    async with service(Answer(ORDERS)):
        await chat.says("Что я тут покупал?", lang="ru")

    assert "Найти заказы пользователя по слову." in chat.script.asked[-1].prefix


async def test_a_write_is_sent_with_its_key(chat: Chat, service: Open) -> None:
    """The number becomes the identifier again; a try again has the same key, and what is done is not sent again."""
    calls = [Call("submit_return", {"order": n, "reason": "wrong"}) for n in (2, 2, 1)]
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), *calls, "Done."])
    accepted = Answer({"id": "R-1"}, status=201)
    async with service(Answer(ORDERS), Answer(status=503), accepted) as asked:
        trace = await chat.says("Send the hat back")

    assert "planner.submit_return(order=2, reason='wrong') = Return R-1 is accepted." in trace
    _, *writes = asked.asked
    assert [write.body for write in writes[:2]] == [
        {"order": {"id": "5f0c-2d9e"}, "reason": "wrong", "customer": "ann"}
    ] * 2
    first, again, other = [write.headers["idempotency-key"] for write in writes]
    assert first == again != other


async def test_a_refused_request_says_why(chat: Chat, service: Open) -> None:
    """The model reads the service's own words, the user the notice of the file."""
    calls = [Call("find_orders", {"word": "e"}), Call("submit_return", {"order": 1, "reason": "other"})]
    chat.expects(supervisor=BEGIN, planner=[*calls, "Too late."])
    async with service(Answer(ORDERS), Answer({"error": {"text": "The 30 days\nare over."}}, status=422)):
        reason = sentence(
            "remote_tools/phrases", "tool_rejected", "en", tool="submit_return", reason="The 30 days are over."
        )
        assert told(f"""
            user: Send the shoes back
            supervisor -> planner
            planner.find_orders(word='e') = {FOUND}
            planner.submit_return(order=1, reason='other') ! {reason}
            view: notice
            planner: Too late.
        """) == await chat.says("Send the shoes back")
    assert [event.message for event in chat.events if isinstance(event, Notice)] == [
        "The shop did not take the return."
    ]


async def test_candidates_come_from_a_service(chat: Chat, service: Open) -> None:
    """A remote selector waits for the user, who may say it in words; the model gets the one that was meant."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_purchase"), "The hat, then."])
    async with service(Answer(ORDERS)):
        assert told("""
            user: I want to send something back
            supervisor -> planner
            selector: Which order? [Blue shoes | Red hat]
            user: the cheap one
            planner.choose_purchase() = {"id":1,"name":"Red hat","price":15.0}
            planner: The hat, then.
        """) == await chat.says("I want to send something back", "the cheap one")
    [question] = [event for event in chat.events if isinstance(event, Interrupt)]
    assert [(option["id"], option["label"], option["detail"]) for option in question.options] == [
        ("0b7e-6f0a", "Blue shoes", "60 €"),
        ("5f0c-2d9e", "Red hat", "15 €"),
    ]


async def test_an_empty_list_is_a_result(chat: Chat, service: Open) -> None:
    """No candidates and no orders are results, not failures."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"word": "e"}), Call("choose_purchase"), "None."])
    async with service(Answer({"orders": []})):
        trace = await chat.says("What did I buy here?")
    assert "planner.find_orders(word='e') = []\nplanner.choose_purchase() = []\nplanner: None." in trace


@pytest.mark.parametrize(("lang", "text"), [("en", "what did I buy here"), ("ru", "что я тут покупал?")])
async def test_examples_are_understood_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str, text: str
) -> None:
    """`local:rules` finds a remote tool by the examples of its file, in each of their languages."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    path = tmp_path / "tools.yaml"
    async with Service.open(Answer(ORDERS)) as service:
        path.write_text(yaml.safe_dump(shop(service.url), allow_unicode=True, sort_keys=False), "utf-8")
        monkeypatch.setenv("REMOTE_TOOLS", str(path))
        settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/dialogs.db")
        async with open_assistant(settings) as assistant:
            turn_trace = trace([event async for event in assistant.play(Turn(thread="ann", text=text, lang=lang))])
    assert f"planner.find_orders() = {FOUND}" in turn_trace
    assert f"view: cards {'Your orders' if lang == 'en' else 'Ваши заказы'}" in turn_trace
    assert service.asked[0].headers["accept-language"] == lang


async def test_a_breaker_has_a_form_filled_in(chat: Chat, tmp_path: Path) -> None:
    """A remote breaker asks for the fields of its form, and the model gets what was filled in."""
    body: dict[str, Any] = {
        "services": {},
        "tools": [
            {
                "name": "ask_way",
                "speaker": "planner",
                "description": "Let the user fill in an address.",
                "path": "/address",
                "kind": "breaker",
                "page": {"ask": "Where do you live in {town}?"},
                "form": {"street": {"type": "string"}, "number": {"type": "integer"}},
            }
        ],
    }
    chat.expects(supervisor=BEGIN, planner=[Call("ask_way"), "Noted."])
    async with Service.open(Answer({"town": "Rome"})) as asked:
        body["services"] = {"shop": {"url": asked.url, "internal": True}}
        async with opened(tmp_path, chat.speakers, http=body) as chat.speakers:
            trace = await chat.says("Send it back", "street: Via Appia\nnumber: 7")
    assert "breaker: Where do you live in Rome?" in trace
    assert 'planner.ask_way() = {"street":"Via Appia","number":7}\nplanner: Noted.' in trace
