"""Rules of conversation that hold for every model: what "undo", "no", "go on" and a correction mean, and for whom."""

from importlib import import_module

import pytest

from agents.state.message_notes import notes_of, with_notes
from app.testing import Chat
from app.testing.script import Call, Line, ScriptModel, Unsure
from prompts import phrase, title_of

pytestmark = pytest.mark.needs("planner", "profile")
PLAN: list[Line] = [Call("plan_things", {"brief": "to-dos"})]
MEET: list[Line] = [Call("get_acquainted", {"brief": "a profile"})]
BOTH: list[Line] = [[Call("plan_things", {"brief": "to-dos"}), Call("get_acquainted", {"brief": "a profile"})]]
MILK = Call("add_todos", {"items": ["milk", "bread"]})


async def todos(chat: Chat) -> list[str]:
    """Return the entries of the list."""
    async with chat.assistant() as assistant:
        return [it.value["text"] for it in await assistant.memory.store.asearch(("users", "ann", "todos"))]


@pytest.mark.parametrize(
    ("text", "lang"),
    [("undo", "en"), ("never mind", "en"), ("отмени", "ru"), ("算了", "zh")],
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


@pytest.mark.parametrize(("answer", "added"), [("yes", ["tea"]), ("no", []), ("undo", [])])
async def test_the_user_is_asked_where_a_model_is_not_sure(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, answer: str, added: list[str]
) -> None:
    """The user sees the call's write, and it runs after a yes; a no and an undo mean it, and nothing older."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted."])
    await chat.says("and here is the first thing for you")
    plain = ScriptModel.message
    monkeypatch.setattr(ScriptModel, "message", lambda model, parts: with_notes(plain(model, parts), unsure=True))
    chat.expects(planner=[[Call("list_todos"), Call("add_todos", {"items": ["tea"]})], "All right."], observer=["stay"])
    trace = await chat.says("and here is the second thing")
    assert "Put on your list (entries: “tea”)?" in trace
    assert await todos(chat) == ["milk", "bread"]
    trace = await chat.says("show my list")
    assert "supervisor.list_todos() = 1. milk" in trace
    assert trace.endswith("confirm: Put on your list (entries: “tea”)? [yes | no]")
    await chat.says(answer)
    assert sorted(await todos(chat)) == ["bread", "milk", *added]
    chat.script.queues.clear()


@pytest.mark.parametrize(("answer", "left"), [("yes", []), ("undo", []), ("no", ["milk", "bread"])])
async def test_an_old_write_is_named_before_it_is_taken_back(chat: Chat, answer: str, left: list[str]) -> None:
    """More than a turn later the user is asked; a yes takes it back, and a no leaves it."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", "Indeed.", "Oh."], observer=["stay"] * 2)
    await chat.says("and here is the first thing for you", "my sister came by", "with all of her children")
    chat.script.queues.clear()
    asked = phrase("undo_old", "en", items="1. milk; 2. bread")
    assert (await chat.says("undo")).endswith(f"planner: {asked}")
    assert await todos(chat) == ["milk", "bread"]
    chat.expects(planner=["All right."], observer=["stay"])
    await chat.says(answer)
    chat.script.queues.clear()
    assert await todos(chat) == left


@pytest.mark.parametrize(("undo", "lang"), [("undo", "en"), ("отмени последнее", "ru"), ("撤销", "zh")])
async def test_an_undo_answers_the_question_in_words(chat: Chat, undo: str, lang: str) -> None:
    """It drops the question, and nothing older is taken back or named; said again it means what was written."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", "Which one?"], observer=["stay"])
    await chat.says("and here is the first thing for you", "one of them has to go", lang=lang)
    dropped = f"planner: {phrase('undo_question', lang)}"
    assert (await chat.says(undo, lang=lang)).endswith(dropped)
    assert await todos(chat) == ["milk", "bread"]
    assert (await chat.says(undo, lang=lang)).endswith(phrase("undo_old", lang, items="1. milk; 2. bread"))
    chat.script.queues.clear()


@pytest.mark.parametrize(
    ("reply", "lang"), [("Ask: “which one?”", "en"), ("Скажите: «что?»", "ru"), ("可以问：“哪个？”", "zh")]
)
async def test_a_question_in_quotation_marks_asks_nothing(chat: Chat, reply: str, lang: str) -> None:
    """An undo behind it is for what was written."""
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", reply], observer=["stay"])
    await chat.says("and here is the first thing for you", "one of them has to go", lang=lang)
    undo = {"en": "undo", "ru": "отмени последнее", "zh": "撤销"}[lang]
    assert (await chat.says(undo, lang=lang)).endswith(phrase("undo_old", lang, items="1. milk; 2. bread"))
    chat.script.queues.clear()


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


@pytest.mark.parametrize(("text", "lang"), [("no, at 10", "en"), ("нет, в 10", "ru"), ("不对,十点", "zh")])
async def test_a_correction_reaches_no_older_write(chat: Chat, text: str, lang: str) -> None:
    """A model that does not name the reminder changes only one that was set in the turn before."""
    when = {"en": "tomorrow at 9", "ru": "завтра в 9", "zh": "明天九点"}[lang]
    chat.expects(supervisor=PLAN, planner=[Call("add_reminder", {"when": when, "text": "run"}), "Set.", "Oh."])
    await chat.says("and here is the first thing for you", "and here is some talk", lang=lang)
    chat.expects(planner=[Call("change_reminder", {"when": "10"}), "Which one?"])
    trace = await chat.says(text, lang=lang)
    assert "planner.change_reminder(when='10') ! " in trace
    chat.script.queues.clear()


@pytest.mark.parametrize(
    ("text", "lang"), [("please delete it", "en"), ("пожалуйста, убери это", "ru"), ("请把它删掉", "zh")]
)
async def test_it_is_what_was_done_last(chat: Chat, text: str, lang: str) -> None:
    """If the message points at something, the active speaker reads the last write and its dialog."""
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


WATCH: list[Line] = [Call("watch_price", {"product": "headphones"}), "I watch it."]
FILM: list[Line] = [Call("choose_title", {"words": "metropolis"}), Call("play_title", {"title_id": 1}), "It plays."]
DONE_LAST = [
    pytest.param(
        "orders", WATCH, Call("stop_price_watch", {"product": "headphones"}), marks=pytest.mark.needs("orders")
    ),
    pytest.param("player", FILM, Call("control_playback", {"action": "stop"}), marks=pytest.mark.needs("player")),
]


@pytest.mark.parametrize(("dialog", "done", "wanted"), DONE_LAST)
async def test_it_reaches_the_dialog_of_an_order_or_a_film(
    chat: Chat, dialog: str, done: list[Line], wanted: Call
) -> None:
    """The prompt names the last write of any kind with its dialog."""
    if dialog == "orders":
        import_module("tests.dialogs.orders.files").fill_with_catalogue(chat.path)
    tool = chat.speakers.dialogs[dialog].tool
    both = [Call(str(tool), {"brief": "-"}), Call("get_acquainted", {"brief": "a profile"})]
    chat.expects(supervisor=[both], profile=["And your skills?"], **{dialog: done})
    await chat.says("and here is something for you", device="terminal")
    chat.expects(profile=[Call("hand_back", {"reason": "it", "target": dialog})], observer=["stay"])
    ending: list[Line] = [wanted, "It is over."]
    chat.expects(**{dialog: ending})
    trace = await chat.says("please put an end to it", device="terminal")
    chat.script.queues.clear()
    assert f"{dialog}.{wanted.tool}(" in trace
    [told] = [note for message in await chat.messages("profile") for note in notes_of(message).get("context", [])]
    assert f"{tool}" in told


@pytest.mark.parametrize(
    ("leave", "text", "lang"),
    [("that's all", "yes, continue", "en"), ("就这些", "好，继续", "zh")],
)
async def test_a_yes_that_goes_on_takes_the_offer(chat: Chat, leave: str, text: str, lang: str) -> None:
    """Beside the yes, "continue" speaks of the dialog on offer, and of nothing else that could go on."""
    chat.expects(supervisor=MEET, profile=["And your skills?"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(observer=["planner"], planner=[MILK, "Noted."], profile=["A draft."])
    await chat.says("and here is something for the list, as it were", leave, lang=lang)
    chat.script.queues.clear()
    assert "offer (free): switch -> profile" in await chat.says(text, lang=lang)


async def test_an_order_is_no_correction(chat: Chat) -> None:
    """A no with another wish may leave the dialog."""
    chat.expects(supervisor=MEET, profile=[Call("fill_form", {"experience": "10 years"}), "And your skills?"])
    await chat.says("and here is something about me")
    chat.expects(observer=["stay"], profile=["Well."])
    trace = await chat.says("no, remind me of the dentist when it is time")
    assert "corrects what was just done" not in trace
    chat.script.queues.clear()


@pytest.mark.parametrize(("text", "lang"), [("continue", "en"), ("продолжай", "ru"), ("继续", "zh")])
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


@pytest.mark.parametrize(("text", "lang"), [("go on", "en"), ("keep going", "en"), ("продолжим", "ru")])
async def test_go_on_leaves_what_is_done(chat: Chat, text: str, lang: str) -> None:
    """If the active dialog has no open question, the paused one goes on with its own; what was written stays."""
    chat.expects(supervisor=MEET, profile=["Which skills do you have?", "…"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(observer=["planner"], planner=[MILK, "Noted."])
    await chat.says("and here is something for the list, as it were", lang=lang)
    assert (await chat.state())["dialog"] == "planner"
    assert "go_on (free): switch -> profile" in await chat.says(text, lang=lang)
    assert (await chat.state())["dialog"] == "profile"
    assert await todos(chat) == ["milk", "bread"]
    chat.script.queues.clear()


@pytest.mark.needs("player")
@pytest.mark.parametrize("is_left", [False, True])
async def test_go_on_is_heard_by_who_has_asked_nothing(chat: Chat, *, is_left: bool) -> None:
    """A dialog that plays something knows what goes on, also where it is on offer."""
    pause = Call("control_playback", {"action": "pause"})
    chat.expects(supervisor=[Call("watch_things", {"brief": "-"})], player=[*FILM[:2], pause, "It rests.", "…"])
    await chat.says("and here is something to see", device="terminal")
    chat.expects(observer=["planner"], planner=[MILK, "Noted."])
    await chat.says("and here is something for the list, as it were", device="terminal")
    if is_left:
        await chat.says("that's all", device="terminal")
    chat.script.queues.clear()
    chat.expects(player=[Call("control_playback", {"action": "resume"}), "It goes on."])
    assert "player.control_playback(action='resume')" in await chat.says("continue", device="terminal")


@pytest.mark.parametrize(
    ("text", "lang"), [("where is my lamp", "en"), ("где моя лампа", "ru"), ("我的灯在哪里", "zh")]
)
async def test_a_question_is_for_who_leads(chat: Chat, text: str, lang: str) -> None:
    """Another dialog's example has an open place where the lamp stands, which is no reason to leave this one."""
    chat.expects(supervisor=MEET, profile=["And your skills?"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(observer=["stay"], profile=["I cannot know that."])
    trace = await chat.says(text, lang=lang)
    chat.script.queues.clear()
    assert trace.endswith("profile: I cannot know that.")


@pytest.mark.needs("player")
@pytest.mark.parametrize(
    ("stop", "text", "lang"), [("stop", "go on", "en"), ("стоп", "продолжай", "ru"), ("停", "继续", "zh")]
)
async def test_go_on_is_not_for_a_film_that_was_stopped(chat: Chat, stop: str, text: str, lang: str) -> None:
    """It is over, and the paused dialog goes on with its question."""
    over = Call("control_playback", {"action": "stop"})
    chat.expects(supervisor=MEET, profile=["Which skills do you have?", "…"])
    await chat.says("and here is something about me", lang=lang)
    chat.expects(observer=["player"], player=[*FILM[:2], "It plays.", over, "It is over."])
    await chat.says("and here is something to see, as it were", stop, lang=lang, device="terminal")
    assert "go_on (free): switch -> profile" in await chat.says(text, lang=lang)
    chat.script.queues.clear()


@pytest.mark.needs("player")
async def test_go_on_is_for_a_film_or_a_story_first(chat: Chat) -> None:
    """Though another dialog waits: only one that has just done its work, and halts nothing, is left."""
    pause, resume = (Call("control_playback", {"action": action}) for action in ("pause", "resume"))
    chat.expects(supervisor=MEET, profile=["Which skills do you have?", "…", "…"], observer=["player"])
    chat.expects(player=[*FILM[:2], pause, "It rests.", resume, "It goes on."])
    await chat.says("and here is something about me", "and here is something to see", "give me a moment, please")
    assert "player.control_playback(action='resume')" in await chat.says("go on")
    chat.expects(observer=["planner"], player=["…"], planner=["Once upon a time there was a list.", "It was long."])
    await chat.says("and here is something for the list, as it were")
    assert (await chat.says("go on")).endswith("planner: It was long.")
    chat.script.queues.clear()


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


@pytest.mark.needs("player", "orders")
@pytest.mark.parametrize(("text", "lang"), [("the boots", "en"), ("ботинки", "ru"), ("登山靴", "zh")])
async def test_a_choice_is_taken_up_behind_another_wish(chat: Chat, text: str, lang: str) -> None:
    """A film was put on in between and asks nothing: the paused dialog gets the choice that it had asked for."""
    import_module("tests.dialogs.orders.files").fill_with_catalogue(chat.path)
    chat.expects(supervisor=[Call("handle_orders", {"brief": "-"})], orders=[Call("choose_product"), "…"])
    await chat.says("and here is something for the shop", lang=lang)
    chat.expects(observer=["player"], player=[*FILM[:2], "It plays."])
    await chat.says("and here is something to see", lang=lang, device="terminal")
    chat.script.queues.clear()
    chat.expects(orders=["Those it is."])
    trace = await chat.says(text, lang=lang)
    assert "answer (free): switch -> orders" in trace
    assert 'orders.choose_product() = {"product_id":' in trace
    assert trace.endswith("orders: Those it is.")
    assert (await chat.state())["dialog"] == "orders"


@pytest.mark.parametrize(
    ("text", "lang", "is_done"),
    [
        ("delete it", "en", False),
        ("删掉吧", "zh", False),
        ("add it", "en", True),
    ],
)
async def test_a_deed_agrees_to_its_own_question_alone(chat: Chat, text: str, lang: str, *, is_done: bool) -> None:
    """ "Delete it" is no yes to a question of what shall be noted, and nothing is written."""
    unsure = Unsure("add_todos", {"items": ["milk"]})
    chat.expects(supervisor=PLAN, planner=[unsure, "Well.", "Well."], observer=["stay", "stay"])
    await chat.says("and here is the first thing for you", lang=lang)
    await chat.says(text, lang=lang)
    assert await todos(chat) == (["milk"] if is_done else [])
    chat.script.queues.clear()


@pytest.mark.parametrize(
    ("text", "lang"),
    [("delete them", "en"), ("удаляй", "ru"), ("删掉吧", "zh")],
)
async def test_a_deed_agrees_to_its_question(chat: Chat, text: str, lang: str) -> None:
    """The user may answer a deletion's question by ordering the deletion again."""
    delete = Call("delete_todos", {"numbers": [1, 2]})
    chat.expects(supervisor=PLAN, planner=[MILK, "Noted.", delete, "Gone."], observer=["stay", "stay"])
    await chat.says("and here is the first thing for you", "and here is the second thing", lang=lang)
    await chat.says(text, lang=lang)
    assert await todos(chat) == []
    chat.script.queues.clear()
