"""Each tool of the player that writes is taken back at the user's word."""

from dataclasses import dataclass

import pytest

from app.testing import Chat
from app.testing.script import Call, Line
from dialogs.player.players import Players
from dialogs.player.store import MediaStore
from prompts import phrase

FILM, PLAY = Call("choose_title", {"words": "metropolis"}), Call("play_title", {"title_id": 1})
STOP = Call("control_playback", {"action": "stop"})
PLAYS = "As it was: “Metropolis (1927)” plays."
NOTHING = "As it was: nothing plays."


@dataclass(frozen=True)
class Case:
    """A tool's write, the state before it, and the words of its undo."""

    call: Call
    before: tuple[Call, ...]
    answer: str


CASES = [
    Case(PLAY, (FILM,), NOTHING),
    Case(Call("play_from", {"source": "today"}), (FILM, PLAY, STOP), NOTHING),
    Case(Call("control_playback", {"action": "pause"}), (FILM, PLAY), PLAYS),
    Case(STOP, (FILM, PLAY), PLAYS),
    Case(Call("set_volume", {"volume": 20}), (), "As it was: volume 50 %."),
    Case(
        Call("mark_title", {"title_id": 1, "liked": True, "watched": True}),
        (FILM,),
        "As it was: Metropolis (not liked, not watched).",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case.call.tool, *map(str, case.call.args.values())]))
async def test_a_write_is_taken_back(chat: Chat, case: Case) -> None:
    """After a restart (each message is one) all is as it was; the answer says what came back; once more is nothing."""
    async with chat.assistant() as assistant:
        await assistant.services.get(MediaStore).set_viewer("ann", "", "ann", None)
    before: list[Line] = [line for call in case.before for line in (call, "Noted.")]
    chat.expects(supervisor=[Call("watch_things", {"brief": "-"})], observer=["stay"] * 9)
    chat.expects(player=["What is it?", *before, case.call, "Noted."])
    await chat.says("let us begin with this matter", *["and here is one thing more for you"] * len(case.before))
    was = await belongings(chat)
    assert "confirm: " not in await chat.says("and here is the last thing for today")
    assert await belongings(chat) != was

    assert f"player: {case.answer}" in await chat.says("undo")
    assert await belongings(chat) == was
    again = await chat.says("undo")
    chat.script.queues.clear()  # how often the observer is asked differs
    if not case.before:
        assert again.endswith(phrase("undo_nothing", "en"))


async def belongings(chat: Chat) -> object:
    """Return the picture and the volume of ann's screen, and her marks."""
    async with chat.assistant() as assistant:
        player = assistant.services.get(Players).of("ann")
        now = await player.now()
        marks = {title.id: (title.liked, title.watched) for title in await player.titles()}
    return now.title.id if now.title else "", now.state, now.volume, now.off_at_end, marks
