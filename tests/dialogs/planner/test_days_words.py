"""People's sentences about their day to `local:rules`: lists by name, notes, single times of a repetition, slips."""

from pathlib import Path

import pytest

from tests.support.standin_table import outcomes, rows, standin

FOLDER = Path(__file__).parent / "days_words"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_each_text_writes_what_it_names(tmp_path: Path, lang: str) -> None:
    """A text without a mark writes nothing: it asks, tells, or was not understood."""
    outcomes_seen = await outcomes(tmp_path / "said.db", lang, rows(lang, "", FOLDER))
    assert [(outcome.row.text, outcome.wrote) for outcome in outcomes_seen if not outcome.is_right] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "text", "line"),
    [
        ("en", "what is on next week", "Friday, 27 November, 10 am  dentist"),
        ("en", "what's on my calendar this week", "Tomorrow, Saturday, 21 November, 7 pm  call mom"),
        ("zh", "我的周末", "明天, 11月21日星期六, 19:00  给妈妈打电话"),
        ("ru", "что у меня на неделе", "Завтра, суббота, 21 ноября, 19:00  позвонить маме"),
    ],
)
async def test_a_week_is_told_whole(tmp_path: Path, lang: str, text: str, line: str) -> None:
    """A question about a week or a month is not answered with the present day by a shortcut."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", lang)
        assert line in (await room.say("ann", text, lang)).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "text", "answer"),
    [
        ("en", "when is the dentist?", "1. dentist: on Friday, 27 November at 10 am"),
        ("en", "when is the concert", "There is no reminder of “concert”."),
        ("ru", "когда стоматолог?", "1. стоматолог: в пятницу, 27 ноября в 10:00"),
    ],
)
async def test_a_question_about_one_entry_is_answered_with_it(
    tmp_path: Path, lang: str, text: str, answer: str
) -> None:
    """It is found by its words; an unknown one is said to be unknown."""
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("ann", lang)
        assert await room.say("ann", text, lang) == answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "wish", "aside", "time"),
    [
        ("en", "remind me to call the bank", "hang on", "at 9"),
        ("zh", "提醒我给银行打电话", "等一下", "九点"),
    ],
)
async def test_a_moment_leaves_the_question_open(tmp_path: Path, lang: str, wish: str, aside: str, time: str) -> None:
    """A request for a moment repeats the question, and a time alone answers it."""
    async with standin(tmp_path / "said.db") as room:
        question = await room.say("ann", wish, lang)
        assert (await room.say("ann", aside, lang)).endswith(f"\n{question}")
        await room.say("ann", time, lang)
        assert [name.partition(" ")[0] for name in await room.numbers("ann")] == ["reminder"]


@pytest.mark.slow
async def test_no_wish_is_lost_without_a_word(tmp_path: Path) -> None:
    """What is not done is said; a question stays open beside a wish of another kind."""
    async with standin(tmp_path / "said.db") as room:
        for place, (lang, *texts, told) in enumerate(UNDONE):
            said = [await room.say(f"user{place}", text, lang) for text in texts]
            assert told in said[-1], said


UNDONE = [
    ("en", "if you can, add butter to my list", "Done. Your list:\n1. butter"),
    ("en", "add milk to my list", "rename tea to coffee", "1. milk\nI cannot find “tea” on the list."),
    ("en", "delete milk and add butter to my list", "I cannot find “milk” on the list.\nDone. Your list:\n1. butter"),
    ("en", "remind me to take pills every day at 8 and at 20", "every 2 hours", "I did not understand"),
    ("ru", "напомни в 8 позвонить Ивану, а в 9 Ольге", "завтра", "Это мне непонятно"),
    ("en", "remind me to call mom", "later", "Not done: call mom."),
    ("ru", "напомни позвонить маме", "потом", "Не сделано: позвонить маме."),
    ("en", "remind me to call mom", "add tea to my list", "at 9 tomorrow", "call mom: tomorrow at 9 am"),
    ("en", "add a hammer", "add tea to my list", "Not done: Put on your list (entries: “hammer”)."),
    ("en", "add a hammer", "remind me to feed the fish", "Not done: Put on your list (entries: “hammer”)."),
    ("ru", "купи сыр и напомни в 6 поесть", "надо купить чай", "(дела: “сыр”); в 6, поесть. Скажите ещё раз"),
    ("en", "cancle my order", "I did not understand"),
    ("en", "remind me at 25:00 to sleep", "tomorrow at 11 pm", "sleep: tomorrow at 11 pm"),
    ("ru", "напомни 30 февраля заплатить", "завтра в 9", "заплатить: завтра в 9:00"),
    ("en", f"add {'long ' * 110}tea to my list", "entries: this is too long: no more characters than 500 fit"),
]
"""A language, messages, and a part of the last answer."""
