"""A conversation in Telegram: it begins, changes hands, and keeps its order."""

import pytest

from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, BOB, MEET, Open
from tests.plugins.telegram.test_pages import KINDS
from tests.support.scripted_assistant import PLAN, ROLES, Echo, Gate
from tests.support.telegram_http import Upload
from tests.support.telegram_server import BotApi

pytestmark = pytest.mark.needs("profile")


async def test_first_contact_greets(door: Open, world: BotApi, script: Script) -> None:
    """/start in a new chat lets the assistant speak first, in a known one it tells how things are."""
    script.add(supervisor=["Welcome!"])
    async with door():
        assert await world.asks(ANN, "/start", sent=1) == ["Welcome!"]
        assert "already talking" in (await world.asks(ANN, "/start", sent=2))[1]
    assert "sendMessageDraft" in world.methods()


async def test_a_first_contact_in_the_language_of_the_users_telegram(door: Open, world: BotApi) -> None:
    """The greeting and the door's own sentences follow the user's Telegram until the user writes."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "/start", writer={"language_code": "ru-RU"}, sent=1)
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["lang"] == "ru"
        assert "Мы уже беседуем" in (await world.asks(ANN, "/start", sent=2))[1]


@pytest.mark.needs("planner")
async def test_dialogs_take_over_and_are_switched(door: Open, world: BotApi, script: Script) -> None:
    """A dialog takes the chat over, goes on, and gives way to another one."""
    script.add(
        supervisor=[MEET, PLAN],
        profile=["What do you do?", "never shown"],
        planner=["What shall I put down?"],
        observer=["planner"],
    )
    async with door() as telegram:
        assert await world.asks(ANN, "Hi, I have just joined", sent=1) == ["What do you do?"]
        world.says(ANN, "Rather show me all my to-dos for the week, please")
        assert (await world.until_sent(ANN, 2))[1] == "What shall I put down?"
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["dialog"] == "planner"


async def test_a_long_answer_comes_in_several_messages(door: Open, world: BotApi) -> None:
    """An answer beyond Telegram's limit is cut between lines; nothing of it is lost."""
    lines = [f"{number}. какой-то очень длинный ответ 😀 о важном" for number in range(1, 301)]
    async with door() as telegram:
        await telegram.tell(f"telegram-{ANN}", "\n".join(lines))
    texts = world.texts(ANN)
    assert len(texts) == 4
    assert "\n".join(texts).split() == " ".join(lines).split()


@pytest.mark.slow
async def test_markdown_of_every_kind_arrives(door: Open, world: BotApi) -> None:
    """Answers in Markdown come as text with entities, long ones in several messages, none that Telegram forbids."""
    count = 0
    async with door(Echo().models(ROLES)):
        # The last one is no Markdown: what cannot be printed a message loses when it is stored.
        for text, plain, entities in KINDS[:-1]:
            world.says(ANN, text)
            count += 1
            assert (await world.until_sent(ANN, count))[-1] == plain
            kinds = {entity.get("url", entity["type"]) for entity in world.sent[-1].get("entities", [])}
            assert kinds == {kind for kind, _ in entities}
        # A reply that says the same again and again is cut.
        marked = "".join(f"**bold{place}** and `code{place}`, " for place in range(300))
        code = "".join(f"x = 1{place}\n" for place in range(900))
        world.says(ANN, f"# Long\n\n{marked}\n\n```py\n{code}```")
        # A message has 100 marks at most.
        texts = (await world.until_sent(ANN, count + 8))[count:]
        assert all(len(text) <= 4096 for text in texts)
        assert sum(text.count("x = 1") for text in texts) == 900
        assert sum(text.count("bold") for text in texts) == sum(text.count("code") for text in texts) == 300


@pytest.mark.needs("planner")
async def test_two_chats_do_not_wait_for_each_other(door: Open, world: BotApi, script: Script) -> None:
    """While one chat's answer is made, another chat is answered."""
    script.gates["planner"] = gate = Gate(0)
    script.add(supervisor=[PLAN, "At once."], planner=["At last."])
    async with door():
        world.says(ANN, "something for the week")
        await world.until(lambda: len(script.asked) == 2)
        assert await world.asks(BOB, "hello", sent=1) == ["At once."]
        assert world.texts(ANN) == []
        gate.set()
        assert await world.until_sent(ANN, 1) == ["At last."]


async def test_messages_of_a_chat_are_answered_in_order(door: Open, world: BotApi) -> None:
    """Messages during an answer are answered after it, each in a turn of its own."""
    async with door(Echo(delays={"supervisor": 0.02}).models(ROLES)) as telegram:
        for text in ("one", "two", "three"):
            world.says(ANN, text)
        assert await world.until_sent(ANN, 3, door=telegram) == ["one", "two", "three"]
        assert [line.turn for line in await telegram.assistant.history(f"telegram-{ANN}")] == [1, 1, 2, 2, 3, 3]


async def test_a_chosen_language_stays(door: Open, world: BotApi) -> None:
    """/lang holds for the turns that follow, whatever they are written in, also after a restart."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "/lang ru", sent=1)
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "hello there", sent=2)
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["lang"] == "ru"


async def test_a_document_is_sent_as_one(door: Open, world: BotApi, script: Script) -> None:
    """A tool's document arrives as a file, and stands for the answer."""
    script.add(
        supervisor=[MEET],
        profile=[
            Call("fill_form", {"experience": "медсестра"}),
            Call("export_profile", {"format": "markdown"}),
            "Here it is.",
        ],
    )
    async with door():
        [name] = await world.asks(ANN, "I am a nurse, export that", sent=1)
    assert name.endswith(".md")
    document = next(call["document"] for method, call in world.calls if method == "sendDocument")
    assert isinstance(document, Upload)
    assert "медсестра" in document.decode()
