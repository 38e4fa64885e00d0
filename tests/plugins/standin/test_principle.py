"""The one principle of `local:rules`: it acts at once on what an example says, and says back what it is not sure of."""

from pathlib import Path

import pytest

from prompts import sentence
from tests.support.standin_table import NOW, changes, standin

AT_ONCE = [
    ("en", ("add oat milk and tea to my list",), ["to-do + oat milk", "to-do + tea"]),
    ("en", ("remind me tomorrow at 9 to call the bank",), ["reminder + call the bank @ 2026-11-21 09:00"]),
    ("en", ("delete the eggs",), ["to-do - eggs"]),
    ("en", ("rename bread to rye bread",), ["to-do bread: rye bread"]),
    ("en", ("show my reminders", "delete the first one"), ["reminder - dentist"]),
    ("en", ("remind me to feed the fish", "tomorrow at 8"), ["reminder + feed the fish @ 2026-11-21 08:00"]),
    ("en", ("show my list", "delete the second one"), ["to-do - bread"]),
    ("en", ("delete the last two from my list", "yes"), ["to-do - bread", "to-do - eggs"]),
    ("en", ("delete all my to-dos", "yes"), ["to-do - bread", "to-do - eggs", "to-do - milk"]),
    ("en", ("remind me tomorrow at 9", "hang on", "call Ann"), ["reminder + call Ann @ 2026-11-21 09:00"]),
    ("ru", ("удали последние два из списка", "да"), ["to-do - хлеб", "to-do - яйца"]),
    ("zh", ("看看我的清单", "删除第二个"), ["to-do - 面包"]),
    ("en", ("add tea to my list and delete the eggs",), ["to-do - eggs", "to-do + tea"]),
    ("ru", ("добавь сыр и хлеб в список дел",), ["to-do + сыр"]),
    ("ru", ("напомни завтра в 9 позвонить в банк", "нет, в 10"), ["reminder + позвонить в банк @ 2026-11-21 10:00"]),
    ("zh", ("把茶加到我的清单",), ["to-do + 茶"]),
    ("zh", ("明天早上9点提醒我给银行打电话",), ["reminder + 给银行打电话 @ 2026-11-21 09:00"]),
]
SAID_BACK = [
    ("en", ("add trip",), "yes", "Put on your list: “trip”. Shall I do that?", ["to-do + trip"]),
    ("en", ("remember that my car is on level 3",), "yes", "my car is on level 3", ["memo + my car is on level 3"]),
    ("en", ("let's get acquainted", "nurse"), "yes", "experience “nurse”", ["experience: nurse"]),
    ("en", ("remind me tomorrow that you are late",), "yes", "you are late", ["reminder + you are late"]),
    ("ru", ("добавь поездку",), "да", "Записать в список: «поездку». Сделать так?", ["to-do + поездку"]),
    ("ru", ("добавил чай в список",), "да", "«чай»", ["to-do + чай"]),
    ("zh", ("加旅行",), "好", "“旅行”", ["to-do + 旅行"]),
]
NOT_UNDERSTOOD = [
    ("en", "i want to plan a trip", "nearest"),
    ("en", "plan my weekend", "nearest"),
    ("en", "delete one of the reminders", "Which one"),
    ("en", "no alarm at 7", "I did not understand"),
    ("en", "delete the second one", "“bread”. Shall I do that?"),
    ("en", "delete all my to-dos and reminders", "nearest"),
    ("ru", "хочу спланировать свадьбу", "Ближе всего"),
    ("zh", "我想策划一个生日会", "没有听懂"),
]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.needs("planner")
@pytest.mark.parametrize(("lang", "texts", "writes"), AT_ONCE)
async def test_what_an_example_says_is_done_at_once(
    tmp_path: Path, lang: str, texts: tuple[str, ...], writes: list[str]
) -> None:
    """Fixed words stand on both sides of each open value, or it is a number, a time, or a name that exists."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", lang)
        before = await room.stored("ann")
        for text in texts:
            await room.say("ann", text, lang)
        assert sorted(changes(before, await room.stored("ann"))) == sorted(writes)


@pytest.mark.needs("planner", "profile")
@pytest.mark.parametrize(("lang", "texts", "yes", "said", "writes"), SAID_BACK)
async def test_what_fills_an_open_value_is_said_back(
    tmp_path: Path, lang: str, texts: tuple[str, ...], yes: str, said: str, writes: list[str]
) -> None:
    """It is done after a yes. After a no, and after any other message, a yes does nothing; then it says so."""
    no = {"en": "no", "ru": "нет", "zh": "不"}[lang]
    async with standin(tmp_path / "said.db") as room:
        for user, answers in (("ann", (yes,)), ("bob", (no, yes)), ("eve", ("1 + 1 = 3", yes))):
            before = await room.stored(user)
            for text in texts:
                reply = await room.say(user, text, lang)
            assert said in reply
            assert changes(before, await room.stored(user)) == []
            replies = [await room.say(user, answer, lang) for answer in answers]
            lapsed = sentence("standin/sentences", "lapsed", lang, what="").strip(" .。")
            assert (lapsed in replies[0]) == (user == "eve")
            wrote = [line.partition(" @ ")[0] for line in changes(before, await room.stored(user))]
            assert wrote == (writes if user == "ann" else [])


@pytest.mark.needs("planner")
@pytest.mark.parametrize(("lang", "text", "said"), NOT_UNDERSTOOD)
async def test_what_is_not_plain_writes_nothing(tmp_path: Path, lang: str, text: str, said: str) -> None:
    """It is not understood, and the nearest things are named; or the user is asked first."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", lang)
        before = await room.stored("ann")
        assert said in await room.say("ann", text, lang)
        assert changes(before, await room.stored("ann")) == []


@pytest.mark.needs("planner")
async def test_a_time_that_is_asked_for_is_answered_by_a_time(tmp_path: Path) -> None:
    """Other words leave the question open, and it is put again."""
    async with standin(tmp_path / "said.db") as room:
        assert "When" in await room.say("ann", "remind me to feed the fish", "en")
        assert "When" in await room.say("ann", "why do you ask", "en")
        await room.say("ann", "in 20 minutes", "en")
        [reminder] = [line for line in changes({}, await room.stored("ann")) if line.startswith("reminder")]
        assert reminder == f"reminder + feed the fish @ {NOW:%Y-%m-%d} 12:20"
