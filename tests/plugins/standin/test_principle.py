"""The one principle of `local:rules`: it acts at once on what an example says, and says back what it is not sure of."""

from pathlib import Path

import pytest

from agents.events import Message
from app.assistant import Turn
from tests.support.standin_table import NOW, changes, standin

AT_ONCE = [
    ("en", ("add oat milk and tea to my list",), ["to-do + oat milk", "to-do + tea"]),
    ("en", ("remind me tomorrow at 9 to call the bank",), ["reminder + call the bank @ 2026-11-21 09:00"]),
    ("en", ("delete the eggs",), ["to-do - eggs"]),
    ("en", ("add <b>tea</b> to my list",), ["to-do + <b>tea</b>"]),
    ("en", ('put "salt & pepper" and tea on my list',), ['to-do + "salt & pepper"', "to-do + tea"]),
    ("en", ("rename bread to rye bread",), ["to-do bread: rye bread"]),
    ("en", ("show my reminders", "delete the first one"), ["reminder - dentist"]),
    ("en", ("remind me to feed the fish", "tomorrow at 8"), ["reminder + feed the fish @ 2026-11-21 08:00"]),
    ("en", ("delete all my to-dos", "yes"), ["to-do - bread", "to-do - eggs", "to-do - milk"]),
    ("en", ("remind me tomorrow at 9", "hang on", "call Ann"), ["reminder + call Ann @ 2026-11-21 09:00"]),
    ("en", ("set a timer for 10 minutes", "delete all timers", "yes"), []),
    ("en", ("mark milk as done", "undo", "delete the done ones"), []),
    ("en", ("remind me every morning and evening to run",), []),
    ("en", ("count down 10",), ["reminder + Time is up @ 2026-11-20 12:10"]),
    ("en", ("remind me to feed the fish", "cancel it", "in 20 minutes"), []),
    ("zh", ("提醒我喂鱼", "取消它", "20分钟后"), []),
    ("zh", ("看看我的清单", "删除第二个"), ["to-do - 面包"]),
    ("en", ("add tea to my list and delete the eggs",), ["to-do - eggs", "to-do + tea"]),
    ("ru", ("добавь сыр и хлеб в список дел",), ["to-do + сыр"]),
    ("ru", ("напомни завтра в 9 позвонить в банк", "нет, в 10"), ["reminder + позвонить в банк @ 2026-11-21 10:00"]),
    ("zh", ("把茶加到我的清单",), ["to-do + 茶"]),
    ("zh", ("明天早上9点提醒我给银行打电话",), ["reminder + 给银行打电话 @ 2026-11-21 09:00"]),
    ("en", ("delete the dentist", "delete the milk"), ["reminder - dentist", "to-do - milk"]),
    ("en", ("delete the milk and the dentist", "delete the first one"), ["to-do - milk"]),
    (
        "en",
        ("remind me at 3 pm to call Ann", "postpone it to tomorrow at 9"),
        ["reminder + call Ann @ 2026-11-21 09:00"],
    ),
    ("en", ("remind me every day at 9 pm to lock up", "stop reminding me to lock up"), []),
    (
        "en",
        ("remind me every day at 9 pm to lock up", "skip today's lock up"),
        ["reminder + lock up @ 2026-11-21 21:00 and again"],
    ),
    ("en", ("wait, add tea to my list",), ["to-do + tea"]),
    (
        "en",
        ("remind me at 5 pm to call Ann", "delete the call reminder", "no", "1"),
        ["reminder + call Ann @ 2026-11-20 17:00"],
    ),
    ("en", ("add tea to my list", "delete it"), []),
    ("en", ("remember that the code is 4711", "yes", "delete it"), []),
    ("en", ("add trip", "never mind, show my list", "yes"), []),
    ("en", ("add tea to my list", "no, coffee", "yes"), ["to-do + coffee"]),
    ("en", ("add tea to my list", "no problem", "yes"), ["to-do + tea"]),
    ("en", ("add tea and jam to my list", "no, coffee", "yes"), ["to-do + jam", "to-do + tea"]),
    ("en", ("rename bread to rye bread", "no, white bread", "yes"), ["to-do bread: white bread"]),
    ("en", ("add tea to my list", "also butter", "yes"), ["to-do + butter", "to-do + tea"]),
    ("ru", ("добавь чай в список", "ещё масло", "да"), ["to-do + масло", "to-do + чай"]),
    ("zh", ("把茶加到我的清单", "还有黄油", "好"), ["to-do + 茶", "to-do + 黄油"]),
    ("en", ("add jam and tea", "also rice", "yes"), ["to-do + jam", "to-do + rice", "to-do + tea"]),
    ("en", ("let's get acquainted", "I know Spanish", "also French", "yes"), ["skills: Spanish, French"]),
    (
        "en",
        ("remind me on the 5th of every month at 9 to pay", "move it two days later", "2"),
        ["reminder + pay @ 2026-12-07 09:00 and again"],
    ),
    ("en", ("remind me at 3 pm to run", "delete one of the reminders"), ["reminder + run @ 2026-11-20 15:00"]),
    ("zh", ("看看我的提醒", "删除第一个提醒"), ["reminder - 看牙医"]),
    ("en", ("show my reminders", "clear my list", "yes"), ["to-do - bread", "to-do - eggs", "to-do - milk"]),
    ("en", ("show my list", "get rid of every reminder", "yes"), ["reminder - call mom", "reminder - dentist"]),
    ("ru", ("напомни завтра в 9 поесть", "сдвинь на час позже"), ["reminder + поесть @ 2026-11-21 10:00"]),
    ("en", ("remind me tomorrow at 3 to run", "not at 3, at 4", "yes"), ["reminder + run @ 2026-11-21 16:00"]),
    ("ru", ("напомни завтра в 3 поесть", "не в 3, а в 4", "да"), ["reminder + поесть @ 2026-11-21 16:00"]),
    ("zh", ("明天下午3点提醒我跑步", "不是3点，是4点", "是"), ["reminder + 跑步 @ 2026-11-21 16:00"]),
    ("en", ("add tea to my list", "not tea but coffee", "yes"), ["to-do + coffee"]),
    (
        "ru",
        ("напомни завтра в 9 сходить за лампой", "нет, за чайником", "да"),
        ["reminder + сходить за чайником @ 2026-11-21 09:00"],
    ),
    ("en", ("add tea to my list", "stop that", "yes"), ["to-do + tea"]),
    ("zh", ("把茶加到清单", "停掉它", "是"), ["to-do + 茶"]),
]
SAID_BACK = [
    ("en", ("add trip",), "yes", "Put on your list (entries: “trip”)?", ["to-do + trip"]),
    ("en", ("remember that my car is on level 3",), "yes", "my car is on level 3", ["memo + my car is on level 3"]),
    ("en", ("let's get acquainted", "nurse"), "yes", "experience: “nurse”", ["experience: nurse"]),
    ("en", ("remind me tomorrow that you are late",), "yes", "you are late", ["reminder + you are late"]),
    (
        "ru",
        ("давай познакомимся", "готовить, считать"),
        "да",
        "опыт: “готовить, считать”",
        ["experience: готовить, считать"],
    ),
    ("en", ("I need batteries",), "yes", "“batteries”", ["to-do + batteries"]),
    ("en", ("I need to call the bank",), "yes", "“call the bank”", ["to-do + call the bank"]),
    ("en", ("I have to pick up the kids",), "yes", "“pick up the kids”", ["to-do + pick up the kids"]),
    ("ru", ("мне надо забрать детей",), "да", "“забрать детей”", ["to-do + забрать детей"]),
    ("zh", ("我得去接孩子",), "好", "“去接孩子”", ["to-do + 去接孩子"]),
    ("en", ("call dad at 8",), "yes", "“call dad”", ["reminder + call dad"]),
    ("ru", ("позвонить папе в 8",), "да", "“позвонить папе”", ["reminder + позвонить папе"]),
    ("ru", ("добавь поездку",), "да", "Записать в список (дела: “поездку”)?", ["to-do + поездку"]),
    ("zh", ("加旅行",), "好", "“旅行”", ["to-do + 旅行"]),
    ("zh", ("我需要电池",), "好", "“电池”", ["to-do + 电池"]),
    ("en", ("play Metropolis at 8",), "yes", "“play Metropolis”", ["reminder + play Metropolis"]),
    ("ru", ("включи Метрополис в 5",), "да", "“включи Метрополис”", ["reminder + включи Метрополис"]),
    (
        "en",
        ("remind me every day at 9 to run 10 times",),
        "yes",
        "run 10 times",
        ["reminder + run 10 times"],
    ),
    ("ru", ("напомни вернуть книгу до пятницы",), "да", "книгу до", ["reminder + вернуть книгу до"]),
    ("zh", ("提醒我每周一三五跑步",), "好", "三五跑步", ["reminder + 三五跑步"]),
    ("ru", ("напомни через час с лишним поесть",), "да", "с лишним", ["reminder + с лишним поесть"]),
    ("ru", ("давай познакомимся", "исправь опыт на 12 лет"), "да", "опыт: “12 лет”", ["experience: 12 лет"]),
]
REMIND = {"en": "remind me tomorrow at 9 to run", "ru": "напомни завтра в 9 бегать", "zh": "明天早上9点提醒我跑步"}
MEETING = {
    "en": ("let's get acquainted", "cook"),
    "ru": ("давай познакомимся", "повар"),
    "zh": ("我们认识一下吧", "厨师"),
}
NOT_UNDERSTOOD = [
    ("en", "i want to plan a trip", "nearest"),
    ("en", "delete one of the reminders", "Which one"),
    ("en", "no alarm at 7", "I did not understand"),
    ("en", "I need to sleep", "I did not understand"),
    ("en", "I need a moment", "I did not understand"),
    ("en", "I need to think about it", "I did not understand"),
    ("en", "I need a break", "I did not understand"),
    ("ru", "мне нужно подумать", "Это мне непонятно"),
    ("ru", "мне нужен отдых", "Это мне непонятно"),
    ("zh", "我需要想一想", "我没有听懂"),
    ("zh", "我需要休息", "我没有听懂"),
    ("en", "set a timer for 5 minutes and also one for 10", "I did not understand"),
    ("zh", "设一个5分钟的计时器，再设一个10分钟的", "我没有听懂"),
    ("en", "delete the second one", "Delete from your list (1): 2. bread?"),
    ("ru", "напомни в 17 по Москве поесть", "Это мне непонятно"),
    ("en", "how much is a pizza", "found"),
    ("ru", "хочу спланировать свадьбу", "Ближе всего"),
    ("en", "thanks mate", "You are welcome."),
    ("ru", "спасибо дружище", "Пожалуйста."),
]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.needs("planner", "profile")
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


@pytest.mark.needs("planner")
async def test_an_answered_question_is_not_put_again(tmp_path: Path) -> None:
    """The entry is known from the wish, and the time from the answer."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", "en")
        assert (await room.say("ann", "postpone the dentist", "en")).endswith(
            "When (“in 20 minutes”, “tomorrow at 9”)?"
        )
        assert await room.say("ann", "on Sunday", "en") == "Set: 1. dentist: on Sunday at 10 am."


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "shift", "number", "said"),
    [
        ("en", "move it an hour later", "no, two", "(when: “at two”)?"),
        ("ru", "сдвинь на час позже", "нет, на два", "(когда: “на два”)?"),
    ],
)
async def test_a_number_behind_a_shift_is_said_back(
    tmp_path: Path, lang: str, shift: str, number: str, said: str
) -> None:
    """It may mean two hours, or two o'clock."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", REMIND[lang], lang)
        await room.say("ann", shift, lang)
        before = await room.stored("ann")
        assert said in await room.say("ann", number, lang)
        assert changes(before, await room.stored("ann")) == []


@pytest.mark.needs("planner", "player")
async def test_what_cannot_be_found_keeps_no_other_wish_from_being_done(tmp_path: Path) -> None:
    """The failure is told, and the rest of the message is done, here and by another dialog."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", "play Nowhere", "en")
        reply = await room.say("ann", "play Nowhere, and add tea to my list", "en")
        assert reply.startswith("That did not work")
        assert reply.endswith("1. tea")
        await room.say("ann", "play Nowhere", "en")
        reply = await room.say("ann", "delete the tea, and set a timer for 5 minutes", "en")
        assert "Deleted: 1. tea" in reply
        assert "timer: in 5 minutes" in reply


@pytest.mark.needs("planner", "profile")
@pytest.mark.parametrize(("lang", "texts", "yes", "said", "writes"), SAID_BACK)
async def test_what_fills_an_open_value_is_said_back(
    tmp_path: Path, lang: str, texts: tuple[str, ...], yes: str, said: str, writes: list[str]
) -> None:
    """It is done after a yes. After a no, a yes does nothing; any other message leaves the question open."""
    no = {"en": "no", "ru": "нет", "zh": "不"}[lang]
    async with standin(tmp_path / "said.db") as room:
        for user, answers in (("ann", (yes,)), ("bob", (no, yes)), ("eve", ("1 + 1 = 3", no, yes))):
            before = await room.stored(user)
            for text in texts:
                reply = await room.say(user, text, lang)
            assert said in reply
            assert changes(before, await room.stored(user)) == []
            for answer in answers:
                await room.say(user, answer, lang)
            wrote = [line.partition(" @ ")[0] for line in changes(before, await room.stored(user))]
            assert wrote == (writes if user == "ann" else [])


@pytest.mark.needs("planner", "profile")
@pytest.mark.parametrize(
    ("lang", "texts", "writes"),
    [
        ("en", (*MEETING["en"], "hmm let me think", "no, 5 years", "yes"), ["experience: 5 years"]),
        (
            "en",
            (*MEETING["en"], "no, I meant 5 years in a cafe", "sorry, twelve years", "yes"),
            ["experience: twelve years"],
        ),
        ("zh", (*MEETING["zh"], "嗯让我想想", "不对,五年", "好"), ["experience: 五年"]),
        ("en", ("add trip", "no, at 10", "no"), []),
        ("en", ("show my orders", "hmm", "no, 10"), []),
    ],
)
async def test_a_correction_reaches_nothing_older(
    tmp_path: Path, lang: str, texts: tuple[str, ...], writes: list[str]
) -> None:
    """It is for the open question, and the reminder that was set earlier stays."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", REMIND[lang], lang)
        before = await room.stored("ann")
        for text in texts:
            await room.say("ann", text, lang)
        assert changes(before, await room.stored("ann")) == writes


@pytest.mark.needs("planner", "profile")
@pytest.mark.parametrize(
    ("lang", "begin", "text"),
    [
        ("en", "let's get acquainted", "my work experience"),
        ("en", "let's get acquainted", "update the experience, it is 12 years"),
        ("en", "let's get acquainted", "also"),
        ("ru", "давай познакомимся", "мои навыки"),
        ("zh", "我们认识一下吧", "我的技能"),
    ],
)
async def test_the_name_of_a_field_is_no_value(tmp_path: Path, lang: str, begin: str, text: str) -> None:
    """Nothing is proposed, and the question is put again."""
    async with standin(tmp_path / "said.db") as room:
        question = await room.say("ann", begin, lang)
        assert (await room.say("ann", text, lang)).endswith(question)
        assert await room.asked("ann") == ""


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "add", "text", "said"),
    [
        ("en", "add tea to my list", "not bad, thank you", "You are welcome."),
        ("en", "add tea to my list", "not today, maybe", "Take your time."),
        ("ru", "добавь чай в список", "не так плохо, спасибо", "Пожалуйста."),
        ("zh", "把茶加到我的清单", "不确定，以后再说", "不着急，慢慢来。"),
    ],
)
async def test_a_denial_beside_small_talk_corrects_nothing(
    tmp_path: Path, lang: str, add: str, text: str, said: str
) -> None:
    """Thanks are answered, and a user who hesitates has time."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", add, lang)
        assert await room.say("ann", text, lang) == said


@pytest.mark.needs("planner", "profile", "orders")
@pytest.mark.parametrize(
    ("lang", "begin", "need"),
    [
        ("en", "let's get acquainted", "need batteries"),
        ("ru", "давай познакомимся", "нужны батарейки"),
        ("zh", "我们认识一下吧", "需要电池"),
        ("en", "watch a price", "I need batteries"),
        ("ru", "следи за ценой", "мне нужны батарейки"),
        ("zh", "关注价格", "我需要电池"),
    ],
)
async def test_a_need_is_no_value_of_a_form(tmp_path: Path, lang: str, begin: str, need: str) -> None:
    """The form stays open, or the dialog that may serve the need asks about it."""
    async with standin(tmp_path / "said.db") as room:
        question = await room.say("ann", begin, lang)
        before = await room.stored("ann")
        reply = await room.say("ann", need, lang)
        assert reply.endswith(question) or await room.asked("ann") == "confirm"
        assert f"“{need}”" not in reply
        assert changes(before, await room.stored("ann")) == []


@pytest.mark.needs("planner", "profile")
async def test_what_was_taken_back_from_another_is_no_answer(tmp_path: Path) -> None:
    """The question is put again, and its answer in words of an example is noted at once."""
    async with standin(tmp_path / "back.db") as room:
        for text in ("let's get acquainted", "I work as a nurse, I know Spanish", "put milk on my list"):
            await room.say("ann", text, "en")
        assert (await room.say("ann", "no, go on", "en")).endswith("What are you interested in?")
        assert "Noted: interests – chess" in await room.say("ann", "I like chess", "en")


@pytest.mark.needs("profile")
@pytest.mark.parametrize(
    ("lang", "begin", "text", "said"),
    [
        ("en", "let's get acquainted", "cancel", "Good, we leave that here."),
        ("ru", "давай познакомимся", "отмени", "Хорошо, оставим это."),
        ("zh", "我们认识一下吧", "取消", "好，这个先放下。"),
    ],
)
async def test_a_form_that_is_cancelled_asks_no_more(
    tmp_path: Path, lang: str, begin: str, text: str, said: str
) -> None:
    """The dialog is left; no question is put again."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", begin, lang)
        assert (await room.say("ann", text, lang)).startswith(said)


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
@pytest.mark.parametrize(
    ("lang", "add", "text", "yes"),
    [
        ("en", "add tea to my list", "delete everything", "yes"),
        ("ru", "добавь чай в список", "удали всё", "да"),
        ("zh", "把茶加到我的清单", "全部删除", "是"),
    ],
)
async def test_all_asks_also_where_one_is_left(tmp_path: Path, lang: str, add: str, text: str, yes: str) -> None:
    """The word "everything" may mean more than the user knows."""
    async with standin(tmp_path / "said.db") as room:
        for message in (add, text):
            await room.say("ann", message, lang)
        stored = await room.stored("ann")
        assert await room.asked("ann") == "confirm"
        await room.say("ann", yes, lang)
        assert [line.partition(" - ")[0] for line in changes(stored, await room.stored("ann"))] == ["to-do"]


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "pills", "skip"),
    [
        ("ru", "каждый день в 8 напоминай пить таблетки", "пропусти завтра"),
        ("zh", "每天8点提醒我吃药", "跳过明天"),
    ],
)
async def test_a_day_to_skip_with_two_entries_is_asked_about(tmp_path: Path, lang: str, pills: str, skip: str) -> None:
    """The series need not be the one that is meant, nor the single entry."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", lang)
        await room.say("ann", pills, lang)
        stored = await room.stored("ann")
        await room.say("ann", skip, lang)
        assert await room.asked("ann") == "interrupt"
        assert await room.stored("ann") == stored


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "run", "skip", "said"),
    [
        ("en", "remind me every Monday and Thursday at 7 to run", "skip thursday", "Skipped: on Thursday at 7 am."),
        ("en", "remind me every Monday at 7 to run", "skip next Monday", "Skipped: on Monday at 7 am."),
        ("ru", "напоминай каждый день в 7 бегать", "пропусти завтра", "Пропускается: завтра в 7:00."),
        ("zh", "每天7点提醒我跑步", "明天跳过", "跳过：明天7:00。"),
    ],
)
async def test_a_day_alone_is_the_day_to_skip(tmp_path: Path, lang: str, run: str, skip: str, said: str) -> None:
    """It finds the series that comes on that day."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", run, lang)
        assert (await room.say("ann", skip, lang)).startswith(said)


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "pills", "skip"),
    [
        ("en", "remind me every day at 8 to take pills", "skip tomorrow the pills"),
        ("ru", "каждый день в 8 напоминай пить таблетки", "пропусти завтра таблетки"),
        ("zh", "每天8点提醒我吃药", "跳过明天的吃药"),
    ],
)
async def test_a_name_stands_behind_the_day_to_skip(tmp_path: Path, lang: str, pills: str, skip: str) -> None:
    """The series goes on the day after."""
    async with standin(tmp_path / "said.db") as room:
        await room.say("ann", pills, lang)
        await room.say("ann", skip, lang)
        assert "2026-11-22 08:00" in " ".join((await room.stored("ann")).values())


@pytest.mark.needs("planner")
async def test_the_newest_list_is_told(tmp_path: Path) -> None:
    """Entries deleted in the same message are not on it any more."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", "en")
        reply = await room.say("ann", "add tea to my list and delete the eggs", "en")
        assert reply.endswith("1. milk\n2. bread\n4. tea")


@pytest.mark.needs("player", "planner")
@pytest.mark.parametrize(
    ("lang", "texts", "played"),
    [
        ("en", ("play Nosferatu", "no, Metropolis", "yes"), "Metropolis (1927)"),
        ("ru", ("включи Носферату", "нет, Метрополис", "да"), "Метрополис (1927)"),
        ("zh", ("播放月球旅行记", "不,大都会", "是"), "大都会 (1927)"),
    ],
)
async def test_no_and_a_name_correct_what_was_done(
    tmp_path: Path, lang: str, texts: tuple[str, ...], played: str
) -> None:
    """The tool that was called last is called with the other name, after a yes."""
    async with standin(tmp_path / "said.db") as room:
        answers = []
        for text in texts:
            turn = Turn(thread="ann", text=text, lang=lang, device="terminal")
            events = [event async for event in room.assistant.play(turn)]
            answers.append(" ".join(event.text for event in events if isinstance(event, Message)))
    assert played not in answers[1]
    assert played in answers[2]


@pytest.mark.needs("player")
@pytest.mark.parametrize(
    ("lang", "texts", "said"),
    [
        ("en", ("play Metropolis", "no, at 10"), "I did not understand"),
        ("en", ("play Metropolis", "7"), "I did not understand"),
        ("ru", ("включи Метрополис", "7"), "Это мне непонятно"),
        ("zh", ("播放大都会", "7"), "我没有听懂"),
        ("en", ("show all films", "play Metropolis", "2"), "A Trip to the Moon"),
        ("zh", ("播放大都会", "停掉它"), "没有播放任何内容"),
        ("en", ("play 3:10 to Yuma",), "is called “3:10 to Yuma”"),
        ("en", ("play 9 to 5",), "is called “9 to 5”"),
        ("ru", ("включи 3:10 на Юму",), "не называется «3:10 на Юму»"),
        ("zh", ("播放2001太空漫游",), "没有叫“2001太空漫游”"),
    ],
)
async def test_a_time_or_a_number_is_no_title(tmp_path: Path, lang: str, texts: tuple[str, ...], said: str) -> None:
    """A number is one of a list that was shown; without a list nothing is searched for. A title may begin with one."""
    async with standin(tmp_path / "said.db") as room:
        for text in texts:
            turn = Turn(thread="ann", text=text, lang=lang, device="terminal")
            events = [event async for event in room.assistant.play(turn)]
    assert said in " ".join(event.text for event in events if isinstance(event, Message))


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "keep", "aside", "yes"),
    [
        ("en", "remember that my car is on level 3", "where is my passport", "yes"),
        ("ru", "запомни, что машина на третьем этаже", "мои заметки", "да"),
    ],
)
async def test_a_question_is_put_again_behind_an_aside(
    tmp_path: Path, lang: str, keep: str, aside: str, yes: str
) -> None:
    """The dialog answers what was asked in between, and the yes behind it is for the question."""
    async with standin(tmp_path / "said.db") as room:
        before, asked = await room.stored("ann"), await room.say("ann", keep, lang)
        assert (await room.say("ann", aside, lang)).endswith(asked.splitlines()[-1])
        await room.say("ann", yes, lang)
        assert len([line for line in changes(before, await room.stored("ann")) if line.startswith("memo +")]) == 1


@pytest.mark.needs("planner")
async def test_a_time_that_is_asked_for_is_answered_by_a_time(tmp_path: Path) -> None:
    """Other words leave the question open, and it is put again."""
    async with standin(tmp_path / "said.db") as room:
        assert "When" in await room.say("ann", "remind me to feed the fish", "en")
        assert "When" in await room.say("ann", "why do you ask", "en")
        await room.say("ann", "in 20 minutes", "en")
        [reminder] = [line for line in changes({}, await room.stored("ann")) if line.startswith("reminder")]
        assert reminder == f"reminder + feed the fish @ {NOW:%Y-%m-%d} 12:20"


@pytest.mark.needs("planner", "player")
@pytest.mark.parametrize(
    ("lang", "texts", "shown"),
    [
        ("en", ("play Metropolis", "add tea to my list", "pause"), "⏸ Metropolis"),
        ("zh", ("播放大都会", "把茶加到我的清单", "暂停"), "⏸ 大都会"),
        ("en", ("play Metropolis", "add tea to my list", "stop it"), "⏹ nothing plays"),
        ("en", ("add tea to my list", "pause"), "I did not understand"),
        ("en", ("add tea to my list", "put on a cartoon", "1"), "▶ The Adventures of Prince Achmed"),
        ("ru", ("добавь чай в список", "включи мультик"), "Что именно?"),
        ("zh", ("把茶加到我的清单", "放个动画片"), "电影和剧集"),
        ("en", ("set an alarm for 6 pm", "turn it off"), "Stopped: 1. alarm"),
        ("ru", ("поставь будильник на 18:00", "выключи"), "Остановлено: 1. будильник"),
        ("zh", ("设一个下午6点的闹钟", "关掉它"), "已停止：1. 闹钟"),
        ("en", ("set an alarm for 6 pm", "play Metropolis", "turn it off"), "⏹ nothing plays"),
    ],
)
async def test_a_bare_order_is_for_what_goes_on(tmp_path: Path, lang: str, texts: tuple[str, ...], shown: str) -> None:
    """It is for the dialog that leads, else for the film beside it; without one nobody hears it."""
    async with standin(tmp_path / "said.db") as room:
        for text in texts:
            turn = Turn(thread="ann", text=text, lang=lang, device="terminal")
            events = [event async for event in room.assistant.play(turn)]
    assert next(it.text for it in events if isinstance(it, Message)).startswith(shown)
