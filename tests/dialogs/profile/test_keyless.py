"""The profile by rules: what is an answer to its questions, and what is not."""

from typing import Any

import pytest

from tests.support.rules_outcome import PROFILE, Lang, room_after
from tests.support.rules_room import Room

IN_PROFILE: list[tuple[Lang, str, dict[str, Any]]] = [
    ("en", "hiking", {"interests": ["hiking"]}),
    ("en", "reading, chess and long walks", {"interests": ["reading", "chess", "long walks"]}),
    ("en", "I like milk", {"interests": ["milk"]}),
    ("en", "add Rust to my skills", {"skills": ["Python", "Ruby", "Rust"]}),
    ("en", "I also know C++ and C#", {"skills": ["Python", "Ruby", "C++", "C#"]}),
    ("en", "change my skills to cooking and driving", {"skills": ["cooking", "driving"]}),
    ("en", "I'd like to become a pilot", {"work": "pilot"}),
    ("en", "I enjoy chess, and I am looking for a job as a cook", {"interests": ["chess"], "work": "cook"}),
    ("ru", "походы", {"interests": ["походы"]}),
    ("ru", "чтение, шахматы и долгие прогулки", {"interests": ["чтение", "шахматы", "долгие прогулки"]}),
    ("ru", "люблю молоко", {"interests": ["молоко"]}),
    ("ru", "добавь Rust в мои навыки", {"skills": ["Python", "Ruby", "Rust"]}),
    ("ru", "ещё знаю C++ и C#", {"skills": ["Python", "Ruby", "C++", "C#"]}),
    ("ru", "измени навыки на кулинарию и вождение", {"skills": ["кулинарию", "вождение"]}),
    ("ru", "я хочу стать пилотом", {"work": "пилотом"}),
    ("ru", "увлекаюсь шахматами и я ищу работу поваром", {"interests": ["шахматами"], "work": "поваром"}),
]


@pytest.mark.parametrize(("lang", "text", "values"), IN_PROFILE)
def test_profile_understands(lang: Lang, text: str, values: dict[str, Any]) -> None:
    """Fields are filled by answers and by sentences unasked, and corrected in the user's own words."""
    room = room_after(lang, PROFILE[lang])
    before = dict(room.form)
    room.says(text)
    assert room.form == before | values


UNFILLED: list[tuple[Lang, str, str]] = [
    ("en", "skip", "What kind of work"),
    ("en", "I don't know", "What kind of work"),
    ("en", "why do you ask?", "Help on: why do you ask?"),
    ("en", "how do I connect a model?", "Help on"),
    ("en", "thanks", "What are you interested in?"),
    ("en", "show my profile", "Profile: {"),
    ("en", "what time is it?", "18:24"),
    ("en", "add milk to my list", "1. milk"),
    ("ru", "пропусти", "Какую работу"),
    ("ru", "не знаю", "Какую работу"),
    ("ru", "зачем ты спрашиваешь?", "Help on: зачем"),
    ("ru", "спасибо", "Чем вы интересуетесь?"),
    ("ru", "покажи мой профиль", "Profile: {"),
    ("ru", "который час?", "18:24"),
    ("ru", "добавь молоко в список", "1. молоко"),
]


@pytest.mark.parametrize(("lang", "text", "said"), UNFILLED)
@pytest.mark.needs("planner")
def test_profile_does_not_take_everything_for_an_answer(lang: Lang, text: str, said: str) -> None:
    """Refusals, questions, commands and other wishes are not written into the form."""
    room = room_after(lang, PROFILE[lang])
    before = dict(room.form)
    assert said in room.says(text)
    assert room.form == before


@pytest.mark.parametrize(
    ("lang", "lines", "form"),
    [
        (
            "en",
            [None, "yes please", "I'm a nurse, I know first aid and I like hiking", "head nurse"],
            {"experience": "nurse", "skills": ["first aid"], "interests": ["hiking"], "work": "head nurse"},
        ),
        (
            "ru",
            [
                None,
                "да, давай",
                "Я медсестра, умею оказывать помощь, говорю по-испански и люблю походы",
                "старшей медсестрой",
            ],
            {
                "experience": "медсестра",
                "skills": ["оказывать помощь", "говорю по-испански"],
                "interests": ["походы"],
                "work": "старшей медсестрой",
            },
        ),
    ],
)
def test_acquaintance(lang: Lang, lines: list[str | None], form: dict[str, Any]) -> None:
    """The opening says what the model is, offers to get acquainted, and a yes leads to a full profile."""
    room = Room(lang)
    said = [room.says(line) for line in lines]
    assert "LLM_MODEL" in said[0]
    assert "OPENAI_API_KEY" in said[0]
    assert room.form == form
    assert room.dialog is None
    assert room.trace[-1].startswith("profile.hand_back(")
