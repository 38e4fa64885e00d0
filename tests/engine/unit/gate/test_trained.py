"""The trained gate: small, quick, and right about the application's own dialogs, which it was not trained on."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agents.conversation.gate import CUE, FILE, HIGH, LOW, Thresholds, trained_gate, weights
from agents.conversation.scene import Scene, scene_of
from agents.state import State
from app.composition import discover

pytestmark = pytest.mark.needs("planner")

SPEAKERS = discover()[0]


def moment(dialog: str, lang: str, reply: str, text: str) -> Scene:
    """Return the scene of a message to a dialog that has just said `reply`."""
    state: State = {
        "lang": lang,
        "heard": {"id": "1", "text": text, "source": "message"},
        "talks": {dialog: {"messages": [HumanMessage("hello"), AIMessage(reply)]}},
    }
    return scene_of(SPEAKERS[dialog], state, SPEAKERS)


@pytest.mark.parametrize(
    ("dialog", "lang", "reply", "text"),
    [
        ("profile", "en", "What are you good at?", "remind me to call mom at five"),
        ("profile", "en", "What are you good at?", "what time is it?"),
        ("profile", "en", "What work do you seek?", "set an alarm for 7"),
        ("profile", "en", "What work do you seek?", "wake me at seven"),
        ("planner", "en", "Done.", "I would like to update my profile"),
        ("profile", "ru", "Что вы умеете?", "напомни позвонить маме в пять"),
        ("profile", "ru", "Какую работу вы ищете?", "который час"),
        ("planner", "ru", "Готово.", "давай про мой профиль"),
        ("planner", "ru", "Записать этот навык в профиль?", "Было бы здорово"),
        ("profile", "en", "Would you like to go on?", "No, thanks I would like to reserve a car there"),
        ("profile", "en", "Is that right?", "Nope... I want to look for a diner"),
        ("profile", "en", "Which skills do you have?", "No, not right now. Get me a salon booking"),
        ("profile", "en", "Which skills do you have?", "no, remind me of the dentist instead"),
        ("profile", "ru", "Продолжим?", "Нет, спасибо, лучше забронируй столик"),
        ("profile", "ru", "Что вы умеете?", "не сейчас, найди мне парикмахера"),
    ],
)
@pytest.mark.needs("profile")
def test_another_wish_reaches_the_observers(dialog: str, lang: str, reply: str, text: str) -> None:
    """In dialogs that the training has never seen; a bare no is an answer, but words beside it may be a wish."""
    assert trained_gate()(moment(dialog, lang, reply, text)).leaves >= LOW


@pytest.mark.parametrize(
    ("dialog", "lang", "reply", "text"),
    [
        ("profile", "en", "What are you good at?", "Python and cooking"),
        ("profile", "en", "What are you interested in?", "music, hiking and chess"),
        ("planner", "en", "Done.", "add milk to my list"),
        ("planner", "ru", "На какое время?", "в семь вечера"),
        ("profile", "en", "How much work experience do you have?", "ten years or so"),
        ("profile", "en", "How would you like to work: full time or part time?", "part time would be best"),
        ("profile", "en", "What do you do, and what experience do you have?", "I'm a nurse"),
        ("profile", "en", "How much experience do you have?", "not much, I just finished school"),
        ("profile", "en", "Do you work full time?", "No, only on weekends"),
        ("profile", "ru", "Какой у вас опыт работы?", "лет десять примерно"),
        ("profile", "ru", "Как вы хотите работать: полный день или неполный?", "лучше неполный день"),
        ("profile", "ru", "Какой у вас опыт работы?", "небольшой, только закончил школу"),
        ("profile", "ru", "Вы работаете полный день?", "Нет, только по выходным"),
    ],
)
@pytest.mark.needs("profile")
def test_an_answer_stays(dialog: str, lang: str, reply: str, text: str) -> None:
    """An answer to the question, or a message for the dialog's own work, calls no observer."""
    assert trained_gate()(moment(dialog, lang, reply, text)).leaves < LOW


def test_a_cue_is_beyond_doubt() -> None:
    """A plain wish for something else reaches the observer before the dialog drafts anything."""
    guess = trained_gate()(moment("planner", "en", "What time?", "let us talk about something else"))
    assert guess.leaves == CUE >= HIGH
    assert guess.reason == "cue 'let us talk about something else'"


@pytest.mark.needs("profile")
def test_a_guess_says_why() -> None:
    """The reason names the score and what spoke most for it; the score names the weights."""
    guess = trained_gate()(moment("planner", "en", "Done.", "I would like to update my profile"))
    assert guess.score is not None
    assert guess.model == weights().name
    assert guess.reason.startswith(f"score {guess.score:.2f}: ")
    assert "foreign" in guess.reason


def test_the_weights_are_small() -> None:
    """They are part of every clone."""
    assert FILE.stat().st_size < 1_000_000


def test_thresholds_are_where_the_guess_turns() -> None:
    """Scores at the thresholds are the two guesses that decide; in between the guess rises."""
    limits = Thresholds(low=-3.0, high=1.0)
    assert limits.share(-3.0) == pytest.approx(LOW)
    assert limits.share(1.0) == pytest.approx(HIGH)
    rising = [limits.share(score) for score in (-100.0, -4.0, -3.0, -1.0, 1.0, 2.0, 100.0)]
    assert rising == sorted(rising)
    assert 0 <= rising[0] < rising[-1] <= 1


@pytest.mark.parametrize("text", ["", " ", "?", "5", "👍", "好的", "a" * 50_000, "\x00"])
@pytest.mark.needs("profile")
def test_any_message_gets_a_guess(text: str) -> None:
    """However odd it is."""
    assert 0 <= trained_gate()(moment("profile", "en", "", text)).leaves <= 1
