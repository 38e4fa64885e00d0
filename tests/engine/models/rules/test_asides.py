"""Words about the conversation instead of the matter: refusals, questions back, complaints, commands of others."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.support.rules_outcome import PROFILE, Lang, room_after
from tests.support.rules_room import Room

IN_PROFILE: list[tuple[Lang, str]] = [
    *(
        ("en", text)
        for text in [
            "later",
            "maybe later",
            "can we skip this?",
            "nothing special",
            "not much",
            "I don't want to say",
            "I'd rather not answer that",
            "I won't tell you",
            "I have no interests",
            "none of them",
            "I have no idea what to say",
            "mind your own business",
            "let's move on",
            "idk lol",
        ]
    ),
    *(
        ("ru", text)
        for text in [
            "потом",
            "давай позже",
            "пропустим этот вопрос",
            "не хочу отвечать",
            "я не хочу об этом говорить",
            "не скажу тебе",
            "у меня нет никаких интересов",
            "ни одного",
            "понятия не имею, что сказать",
            "это не твоё дело",
            "поехали дальше",
        ]
    ),
    *(
        ("en", text)
        for text in [
            "which one?",
            "what do you mean?",
            "like what?",
            "I don't understand",
            "??",
            "huh",
            "the second one",
            "both",
            "I like it",
            "I can do everything",
            "say that again",
            "let me think",
            "good question",
            "I already told you",
            "don't write that down",
            "delete everything",
            "mark the milk",
            "/quit me",
        ]
    ),
    *(
        ("ru", text)
        for text in [
            "какие именно?",
            "что ты имеешь в виду?",
            "например?",
            "я не понимаю",
            "в смысле?",
            "чего",
            "второе",
            "оба",
            "повтори вопрос",
            "ещё раз",
            "дай подумать",
            "ты меня не понял",
            "я уже говорил",
            "не записывай это",
            "удали всё",
            "/выйти отсюда",
            "ахах",
        ]
    ),
]


@pytest.mark.parametrize(("lang", "text"), IN_PROFILE)
@pytest.mark.needs("profile")
def test_words_that_tell_nothing_are_no_answer(lang: Lang, text: str) -> None:
    """What tells nothing is not written down: a question is put again."""
    room = room_after(lang, PROFILE[lang])
    before = dict(room.form)
    assert room.says(text).endswith("?")
    assert room.form == before


@pytest.mark.parametrize(
    ("lang", "text", "interests"),
    [
        ("en", "Go", ["Go"]),
        ("en", "I like Go", ["Go"]),
        ("en", "answering questions", ["answering questions"]),
        ("en", "private equity", ["private equity"]),
        ("en", "work in a clinic", ["work in a clinic"]),
        ("ru", "секретные службы", ["секретные службы"]),
    ],
)
@pytest.mark.needs("profile")
def test_an_answer_keeps_what_it_tells(lang: Lang, text: str, interests: list[str]) -> None:
    """A plain name is an answer, also with a word that elsewhere refuses or commands."""
    room = room_after(lang, PROFILE[lang])
    room.says(text)
    assert room.form["interests"] == interests


@pytest.mark.parametrize(
    ("lang", "lines"),
    [
        ("en", [None, "hi", "wait", "hello there my dear friend", "yes"]),
        ("ru", [None, "привет", "подожди", "привет дорогой друг", "да"]),
    ],
)
def test_an_offer_outlives_small_talk(lang: Lang, lines: list[str | None]) -> None:
    """A greeting or a question back does not take the offer of the opening away."""
    room = Room(lang)
    for line in lines:
        room.says(line)
    assert room.dialog == "profile"


@pytest.mark.parametrize(
    ("lang", "text", "said"),
    [
        ("en", "later", "Just tell me what you need"),
        ("en", "skip it", "Just tell me what you need"),
        ("ru", "потом", "Просто скажите, что нужно"),
    ],
)
def test_refusing_is_no_wish(lang: Lang, text: str, said: str) -> None:
    """A refusal is not taken for whatever shares a word with it ("talk", "speak English")."""
    room = Room(lang)
    room.says(None)
    assert said in room.says(text)
    assert room.trace == []


@pytest.mark.parametrize(("lang", "answer"), [("en", "hiking"), ("ru", "походы")])
@pytest.mark.needs("profile")
def test_a_shortcut_leaves_the_question_open(lang: Lang, answer: str) -> None:
    """After the time was told in between, an answer still answers what was asked before."""
    room = room_after(lang, PROFILE[lang])
    call = {"name": "current_time", "args": {}, "id": "1"}
    served = AIMessage("18:24", additional_kwargs={"served": "current_time"})
    asked = [HumanMessage("…"), AIMessage("", tool_calls=[call]), ToolMessage("18:24", tool_call_id="1"), served]
    room.talk("profile").extend(asked)
    room.says(answer)
    assert room.form["interests"] == [answer]
