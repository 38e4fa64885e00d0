"""A wish in words to be forgotten: a question comes first, and other threads of the user count as well."""

from typing import Any

import pytest

from agents.conversation.deletion import worded
from agents.memory.store import namespace_of
from app.assistant import Assistant, Turn
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase

WORDS = {
    "profile": [
        "Please forget my profile!",
        "Очисти мой профиль, пожалуйста",
    ],
    "me": [
        "I want you to forget everything about me",
        "можешь удалить все мои данные",
    ],
}


async def give(assistant: Assistant, user: str) -> None:
    """Let there be a to-do, a profile and a goal of a user."""
    store = assistant.memory.store
    await store.aput(namespace_of(user, "todos"), "one", {"number": 1, "text": "milk", "done": False})
    await store.aput(namespace_of(user, "forms"), "profile", {"experience": "nurse"})
    await store.aput(namespace_of(user, "facts"), "professional_intent", {"text": "a hospital"})


async def kinds(assistant: Assistant, user: str) -> set[str]:
    """Return the kinds of things that are kept of a user."""
    return {item.namespace[2] for item in await assistant.memory.store.asearch(namespace_of(user), limit=100)}


@pytest.mark.parametrize("text", ["forget", "forget that", "забудь это"])
async def test_never_mind_forgets_nothing(chat: Chat, text: str) -> None:
    """A bare word names nothing that could be deleted, so that no yes behind it deletes all."""
    chat.expects(supervisor=["Hello.", "Fine.", "Yes what?"])
    lang = "en" if text.isascii() else "ru"
    async with chat.assistant() as assistant:
        await give(assistant, "ann")
    await chat.says("hello there")
    assert phrase("forget_sure", lang) not in await chat.says(text, lang=lang)
    await chat.says("yes" if lang == "en" else "да", lang=lang)
    async with chat.assistant() as assistant:
        assert await kinds(assistant, "ann") == {"todos", "forms", "facts"}


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in WORDS.items() for text in texts])
async def test_in_words_it_is_asked_first(chat: Chat, what: str, text: str) -> None:
    """No model is needed; "no", or anything else, deletes nothing, and a later yes is no answer any more."""
    chat.expects(supervisor=["Hello.", "It is fine.", "Yes what?"])
    async with chat.assistant() as assistant:
        await give(assistant, "ann")
    await chat.says("hello there")
    lang = "en" if text.isascii() else "ru"
    question = f"{worded('forget', what, lang)} {phrase('forget_sure', lang)}"
    assert f"user: {text}\nsupervisor: {question}" == await chat.says(text)
    assert phrase("forget_not", lang) in await chat.says("no" if lang == "en" else "нет")
    await chat.says(text, "how is the weather", "yes", lang=lang)
    async with chat.assistant() as assistant:
        assert await kinds(assistant, "ann") == {"todos", "forms", "facts"}

    trace = await chat.says(text, "yes" if lang == "en" else "да")
    assert trace.endswith(f"forgets {what}\nsupervisor: {worded('forgotten', what, lang)}")
    async with chat.assistant() as assistant:
        assert await kinds(assistant, "ann") == ({"todos"} if what == "profile" else set())
        assert bool(await assistant.history("ann")) == (what == "profile")


async def test_a_profile_goes_from_every_thread(chat: Chat) -> None:
    """The dialog that fills it begins anew, in the same thread and in others."""
    meet = Call("get_acquainted", {"brief": "-"})
    fill = Call("fill_form", {"experience": "nurse"})
    chat.expects(supervisor=[meet, meet], profile=[fill, "Noted.", "Noted, too.", "Your skills?"], observer=["stay"])
    await chat.says("hello, I am new here", thread="one", user="ann")
    await chat.says("hello, I am new here", thread="two", user="ann")
    for thread in ("one", "two"):
        assert (await chat.state(thread))["forms"]["profile"]["experience"] == "nurse"
    await chat.says("delete my profile", "yes", thread="one", user="ann")
    for thread in ("one", "two"):
        assert (await chat.state(thread))["forms"] == {}
        assert (await chat.state(thread))["dialog"] == "profile"
    await chat.says("so what would you like to hear now from me", thread="two", user="ann")


async def test_a_part_of_a_group_goes_alone(chat: Chat) -> None:
    """One user's messages and answers go, also from the others' contexts; everything else stays."""
    chat.expects(supervisor=["Plum, I see.", "Hello Bob.", "Noted.", "Fine."])
    group: dict[str, Any] = {"thread": "g", "is_group": True}
    await chat.says("my word is plum", user="ann", name="Ann", **group)
    await chat.says("my word is pear", user="bob", name="Bob", **group)
    async with chat.assistant() as assistant:
        for user in ("ann", "bob"):
            await give(assistant, user)
        assert await assistant.forgetting.part("g", "ann")
        assert not await assistant.forgetting.part("g", "ann")
        assert [line.text for line in await assistant.history("g")] == ["my word is pear", "Hello Bob."]
        assert await kinds(assistant, "ann") == await kinds(assistant, "bob") == {"todos", "forms", "facts"}
    assert b"plum" not in b"".join(file.read_bytes().lower() for file in chat.path.parent.iterdir())
    await chat.says("and now another one", user="bob", **group)
    assert "pear" in chat.script.asked[-1].prefix
    await chat.says("here I am once more", user="ann", **group)
    assert "plum" not in chat.script.asked[-1].prefix


@pytest.mark.parametrize("others", [[], ["ann", "bob"]])
async def test_all_about_a_person_goes(chat: Chat, others: list[str]) -> None:
    """Whatever threads there are: one's own threads, one's part of shared ones, and nothing of anybody else."""
    async with chat.assistant() as assistant:
        for user in ("ann", "bob"):
            await give(assistant, user)
        chat.expects(supervisor=["Aha."] * (3 + len(others)))
        turns = [("ann", "ann"), ("anns-second", "ann"), ("bob", "bob"), *(("shared", user) for user in others)]
        for thread, user in turns:
            [_ async for _ in assistant.play(Turn(thread=thread, text=f"{user} was here", user=user))]
    assert told("""
        user: forget everything you know about me
        supervisor: This deletes all that is kept about you and everything you said, here and in other conversations. What others said stays. This cannot be taken back. Shall it be deleted? (yes / no)
        user: yes
        forgets me
        supervisor: All that was kept about you and everything you said is deleted. What others said is kept.
    """) == await chat.says("forget everything you know about me", "yes", user="ann")  # noqa: E501
    async with chat.assistant() as assistant:
        assert await kinds(assistant, "ann") == set()
        assert await kinds(assistant, "bob") == {"todos", "forms", "facts"}
        left = {info.thread for info in await assistant.threads()}
        assert left == {"bob", *(["shared"] if "bob" in others else [])}
    assert b"ann was here" not in b"".join(file.read_bytes() for file in chat.path.parent.iterdir())


async def test_a_profile_goes_from_a_group_in_which_somebody_else_wrote_last(chat: Chat) -> None:
    """The part of the one who asks is emptied, and nobody else's."""
    meet, fill = Call("get_acquainted", {"brief": "-"}), Call("fill_form", {"experience": "nurse"})
    chat.expects(supervisor=[meet, "Hello Bob."], profile=[fill, "Noted."])
    group: dict[str, Any] = {"thread": "g", "is_group": True}
    await chat.says("hello, I am new here", user="ann", name="Ann", **group)
    await chat.says("good to see you all", user="bob", name="Bob", **group)
    async with chat.assistant() as assistant:
        await assistant.forgetting.form("ann", "profile", "experience")
        ann = await assistant.state("g", "ann") or {}
        assert not ann["forms"].get("profile", {}).get("experience")


@pytest.mark.parametrize(
    ("text", "lang"), [("delete the interests", "en"), ("удали мои интересы", "ru"), ("删除我的兴趣", "zh")]
)
async def test_what_is_not_noted_cannot_be_deleted(chat: Chat, text: str, lang: str) -> None:
    """The user is told so and asked nothing, also in a thread that has not read the form yet; "yes" deletes nothing."""
    chat.expects(supervisor=["Yes what?"])
    async with chat.assistant() as assistant:
        await give(assistant, "ann")
    assert (await chat.says(text, lang=lang)).endswith(worded("forget_no", "profile.interests", lang))
    assert (await chat.says("yes", lang=lang)).endswith("Yes what?")
    async with chat.assistant() as assistant:
        assert await kinds(assistant, "ann") == {"todos", "forms", "facts"}
