"""What the rules have not understood for certain they say so, and write nothing down."""

import copy
from collections.abc import Mapping

import pytest

from prompts import table
from tests.support.rules_outcome import PROFILE, Lang, acted, room_after
from tests.support.rules_room import Room

TODOS = {"en": [("milk", False), ("bread", False), ("eggs", False)], "ru": [("молоко", False), ("хлеб", False)]}
SET = {
    "en": ["add milk and bread", "remind me in 20 minutes to check the oven", "remind me at 9 to call mom"],
    "ru": ["добавь молоко и хлеб", "напомни через 20 минут проверить духовку", "напомни в 9 позвонить маме"],
}
BEGUN: Mapping[str, Mapping[str, list[str]]] = {
    "nothing": {"en": [], "ru": []},
    "a list shown": {"en": ["show my list"], "ru": ["покажи список"]},
    "to-dos added": {"en": ["add tea and rice to my list"], "ru": ["добавь чай и рис в список"]},
    "the profile asking": PROFILE,
    "reminders set": SET,
    "a question of the list": {"en": ["add something"], "ru": ["добавь что-нибудь"]},
}
UNCERTAIN: Mapping[str, Mapping[Lang, list[str]]] = {
    "nothing": {
        "en": ["only those with a high rating", "the cheaper ones", "could you tell me what time it is"],
        "ru": ["подешевле", "только с высоким рейтингом"],
    },
    "a list shown": {
        "en": [
            *("delete everything except milk", "delete all but the second one", "delete all but milk"),
            *("delete the first two", "delete the last two", "delete both", "delete none of them", "delete nothing"),
            *("please don't delete the milk", "I don't want to delete milk", "never delete milk"),
            *("delete it", "keep only milk", "skip", "wait"),
        ],
        "ru": [
            *("удали всё кроме молока", "удали всё, кроме второго", "удали первые два", "удали оба", "удали ничего"),
            *("удали его", "пропусти", "подожди"),
        ],
    },
    "to-dos added": {
        "en": ["and cheese", "also cheese and wine", "no, not tea but milk", "no, I meant cheese", "cheese"],
        "ru": ["и ещё сыр", "нет, не чай, а молоко", "сыр"],
    },
    "the profile asking": {
        "en": [
            *(
                "remove Ruby",
                "remove Ruby from my skills",
                "delete the last one",
                "delete java from my skills and add Go",
            ),
            *("no, I meant Rust", "not nurse, pilot", "no, not a nurse, a pilot", "Ruby is wrong"),
            *("my experience is wrong", "change my experience", "what are my skills?", "which skills do I have?"),
            *("buy milk", "add milk", "delete the milk", "I'm not a nurse", "I don't like milk"),
            *("what time is it in Tokyo", "back", "go to the previous question", "maybe chess"),
        ],
        "ru": [
            *("убери Ruby", "убери Ruby из навыков", "удали второе", "удали java из навыков и добавь Go"),
            *("нет, я имел в виду Rust", "не медсестра, пилот", "измени опыт"),
            *("какие у меня навыки?", "купить молоко", "добавь молоко", "удали молоко", "я не медсестра"),
            *("мне не нравится молоко", "который час в Токио", "назад", "вернись к предыдущему вопросу"),
        ],
    },
    "reminders set": {
        "en": ["make it nice", "not at 9 but at 8"],
        "ru": ["сделай красиво", "не в 9, а в 8"],
    },
    "a question of the list": {"en": ["what?", "I don't want to say"], "ru": ["что?", "не скажу тебе"]},
}
CASES = [
    (begun, lang, text) for begun, by_lang in UNCERTAIN.items() for lang, texts in by_lang.items() for text in texts
]


@pytest.mark.parametrize(("begun", "lang", "text"), CASES)
@pytest.mark.needs("profile")
def test_what_is_not_certain_changes_nothing(begun: str, lang: Lang, text: str) -> None:
    """Exceptions, corrections, pointers, refusals and complaints get an answer, and nothing is written down."""
    room = room_after(lang, BEGUN[begun][lang], TODOS[lang])
    before = copy.deepcopy((room.form, room.todos, room.reminders))
    assert room.says(text)
    assert (room.form, room.todos, room.reminders) == before


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "remind me to call mom tomorrow at 9 and to feed the cat at 6 pm"),
        ("en", "wake me up at 7 and at 8"),
        ("ru", "напомни завтра в 9 позвонить маме и в 18 покормить кота"),
    ],
)
def test_nothing_is_done_by_halves(lang: Lang, text: str) -> None:
    """A message of which a part means nothing changes nothing, and the user hears so."""
    room = Room(lang)
    assert table("standin/sentences", lang)["not_understood"] in room.says(text)
    assert acted(room) == []
