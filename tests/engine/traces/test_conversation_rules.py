"""Rules of conversation that hold for every model: what "undo", "no", "go on" and a correction mean, and for whom."""

import pytest

from agents.state.message_notes import notes_of
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase, title_of

pytestmark = pytest.mark.needs("planner", "profile")
PLAN: list[Line] = [Call("plan_things", {"brief": "to-dos"})]
MEET: list[Line] = [Call("get_acquainted", {"brief": "a profile"})]
BOTH: list[Line] = [[Call("plan_things", {"brief": "to-dos"}), Call("get_acquainted", {"brief": "a profile"})]]
MILK = Call("add_todos", {"items": ["milk", "bread"]})


async def todos(chat: Chat) -> list[str]:
    """Return what is on the list."""
    async with chat.assistant() as assistant:
        return [it.value["text"] for it in await assistant.memory.store.asearch(("users", "ann", "todos"))]


@pytest.mark.parametrize(
    ("text", "lang"),
    [("undo", "en"), ("no", "en"), ("never mind", "en"), ("cancel that", "en"), ("отмени", "ru"), ("算了", "zh")],
)
async def test_who_backs_out_of_a_question_reaches_nothing_older(chat: Chat, text: str, lang: str) -> None:
    """The question is declined, its dialog hears that, and what was written before stays."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", Call("choose_todo"), "All right."], observer=["stay"])
    await chat.says("and here is the first thing for you", "and here is the second thing", lang=lang)
    trace = await chat.says(text, lang=lang)
    assert phrase("confirm_refused", lang, tool="choose_todo") in trace
    assert trace.endswith("planner: All right.")
    assert (await chat.state())["pending"] == []
    assert await todos(chat) == ["milk", "bread"]
    chat.script.queues.clear()


async def long_ago(chat: Chat) -> None:
    """Let something be written, and two turns pass."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", "Indeed.", "Oh."], observer=["stay"] * 2)
    await chat.says("and here is the first thing for you", "my sister came by", "with all of her children")
    chat.script.queues.clear()


@pytest.mark.parametrize(("answer", "left"), [("yes", []), ("undo", []), ("no", ["milk", "bread"])])
async def test_an_old_write_is_named_before_it_is_taken_back(chat: Chat, answer: str, left: list[str]) -> None:
    """More than a turn later the user is asked; a yes takes it back, and a no leaves it."""
    await long_ago(chat)
    asked = phrase("undo_old", "en", items="1. milk; 2. bread")
    assert (await chat.says("undo")).endswith(f"planner: {asked}")
    assert await todos(chat) == ["milk", "bread"]
    chat.expects(planner=["All right."], observer=["stay"])
    await chat.says(answer)
    chat.script.queues.clear()
    assert await todos(chat) == left


@pytest.mark.parametrize(
    ("text", "lang"), [("no wait, 11 years", "en"), ("ой нет, 11 лет", "ru"), ("不对,十一年", "zh")]
)
async def test_a_correction_is_heard_by_who_has_just_noted(chat: Chat, text: str, lang: str) -> None:
    """No observer is asked, and no other dialog takes a length of time for its own."""
    chat.expects(supervisor=MEET, profile=[Call("fill_form", {"experience": "10 years"}), "And your skills?"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(profile=[Call("fill_form", {"experience": "11 years"}), "And your skills?"])
    await chat.says(text, lang=lang)
    assert (await chat.state())["forms"]["profile"]["experience"] == "11 years"
    assert (await chat.state())["dialog"] == "profile"


@pytest.mark.parametrize(
    ("text", "lang"), [("no wait, oat milk", "en"), ("ой нет, овсяное молоко", "ru"), ("不对,燕麦奶", "zh")]
)
async def test_a_correction_reaches_who_leads_no_more(chat: Chat, text: str, lang: str) -> None:
    """Another dialog has begun in the same turn: the one that noted is called back, and no other model is asked."""
    chat.expects(supervisor=BOTH, planner=[MILK, "Noted."], profile=["And your skills?"])
    await chat.says("and here is something for you", lang=lang)
    assert (await chat.state())["dialog"] == "profile"
    chat.expects(planner=[Call("change_todo", {"number": 1, "text": "oat milk"}), "Oat milk it is."])
    trace = await chat.says(text, lang=lang)
    assert "correction (free): switch -> planner" in trace
    assert await todos(chat) == ["oat milk", "bread"]


@pytest.mark.parametrize(
    ("text", "lang"), [("please delete it", "en"), ("пожалуйста, убери это", "ru"), ("请把它删掉", "zh")]
)
async def test_it_is_what_was_done_last(chat: Chat, text: str, lang: str) -> None:
    """Whoever leads is told what was done last and who has it, where the message points at something."""
    chat.expects(supervisor=BOTH, planner=[MILK, "Noted."], profile=["And your skills?"])
    await chat.says("and here is something for you", lang=lang)
    chat.expects(profile=[Call("hand_back", {"reason": text, "target": "planner"})], observer=["stay"])
    chat.expects(planner=[Call("delete_todos", {"numbers": [1]}), "Gone."])
    await chat.says(text, lang=lang)
    chat.script.queues.clear()
    assert await todos(chat) == ["bread"]
    [told] = [note for message in await chat.messages("profile") for note in notes_of(message).get("context", [])]
    tool = chat.speakers.dialogs["planner"].tool
    assert told == phrase("last_done", lang, text="1. milk", title=title_of("planner", lang), tool=tool)


async def test_an_order_is_no_correction(chat: Chat) -> None:
    """What begins with a no and wishes for something else may leave the dialog."""
    chat.expects(supervisor=MEET, profile=[Call("fill_form", {"experience": "10 years"}), "And your skills?"])
    await chat.says("and here is something about me")
    chat.expects(observer=["stay"], profile=["Well."])
    trace = await chat.says("no, remind me of the dentist when it is time")
    assert "corrects what was just done" not in trace
    chat.script.queues.clear()


@pytest.mark.parametrize(("text", "lang"), [("go on", "en"), ("continue", "en"), ("продолжай", "ru"), ("继续", "zh")])
async def test_go_on_resumes_what_is_paused(chat: Chat, text: str, lang: str) -> None:
    """Wherever it is said, also after the offer was passed over; it leaves no dialog."""
    chat.expects(supervisor=[*MEET, "It is sunny.", "You are welcome."], profile=["Which skills do you have?"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(observer=["other"], profile=["…"])
    await chat.says("what is the weather like in Rome today", "thanks for that, I had wondered", lang=lang)
    chat.script.queues.clear()
    assert "profile: " in await chat.says(text, lang=lang)
    assert (await chat.state())["dialog"] == "profile"
    chat.expects(profile=["Which skills?"])
    await chat.says(text, lang=lang)
    assert (await chat.state())["dialog"] == "profile"


async def test_a_plain_answer_is_taken_up_by_who_had_asked(chat: Chat) -> None:
    """A number answers the question of the paused dialog, and its model hears it."""
    chat.expects(supervisor=[*MEET, "It is sunny."], profile=["How many years have you worked?"])
    await chat.says("and here is something about me")
    chat.expects(observer=["other"], profile=["…"])
    await chat.says("what is the weather like in Rome today")
    chat.script.queues.clear()
    chat.expects(profile=["Eleven years, noted."])
    assert (await chat.says("11")).endswith("profile: Eleven years, noted.")
    assert (await chat.state())["dialog"] == "profile"
