"""The player's dialog with Kodi as its player: in words, and on its screen."""

import pytest

from agents.models import Model, Models
from app.testing import Chat
from app.testing.script import Call, Line
from dialogs.player.store import MediaStore
from tests.dialogs.player.support.kodi_server import KodiServer
from tests.support.rules import RulesModel

BEGIN: list[Line] = [Call("watch_things", {"brief": "films"})]


def use(patch: pytest.MonkeyPatch, url: str, user: str = "kodi", password: str = "") -> None:
    """Let this Kodi be the player."""
    for name, value in {"KODI_URL": url, "KODI_USER": user, "KODI_PASSWORD": password}.items():
        patch.setenv(name, value)


async def say(chat: Chat, *texts: str, user: str = "me", lang: str = "en") -> str:
    """Say something at a terminal; return the trace."""
    return await chat.says(*texts, thread=user, lang=lang, device="terminal")


async def watch_a_film(chat: Chat) -> None:
    """Choose from a list, set the volume, and switch off at the end, as a new user would, with the model of rules."""
    chat.as_shipped()
    chat.models = Models(default=Model("local:rules", RulesModel()))
    trace = await say(chat, "I want to watch a film", "show films with a high rating")
    assert trace.endswith("view: cards Films and series")
    trace = await say(chat, "the first film, at volume 20")
    assert "set_volume(volume=20)" in trace
    assert trace.endswith("view: player Metropolis (1927)")
    trace = await say(chat, "switch off when this ends")
    assert trace.endswith("view: player Metropolis (1927) (then switched off)")


@pytest.mark.slow
async def test_a_film_is_watched_on_kodi(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's wishes reach the screen."""
    async with KodiServer.open() as server:
        use(monkeypatch, server.url)
        await watch_a_film(chat)
        assert (server.queue, server.volume) == ([("movie", 1)], 20)


async def test_a_series_ends_with_the_episode_that_plays(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer takes the later episodes off Kodi's list; without it they play. "Undo" puts them back."""
    play: list[Line] = [Call("choose_title", {"words": "flash gordon"}), Call("play_title", {"title_id": 1}), "Yes."]
    timer: list[Line] = [Call("control_playback", {"action": "stop_at_end"}), "I will."]
    async with KodiServer.open() as server:
        use(monkeypatch, server.url)
        chat.expects(supervisor=BEGIN, player=play)
        await say(chat, "Flash Gordon")
        assert server.queue == [("episode", 1), ("episode", 2), ("episode", 3)]
        chat.expects(player=timer, observer=["stay"])
        await say(chat, "Switch off when this ends")
        assert server.queue == [("episode", 1)]
        await say(chat, "undo")
        assert server.queue == [("episode", 1), ("episode", 2), ("episode", 3)]


@pytest.mark.parametrize(
    ("lang", "film", "code"),
    [
        ("en", "metropolis", "age_limit"),
        ("ru", "nosferatu", "not_rated"),
        ("en", "lost", "missing_file"),
        ("ru", "slow", "not_started"),
    ],
)
async def test_what_may_not_be_played_is_told_with_a_code(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, lang: str, film: str, code: str
) -> None:
    """Kodi's rating of a film by a board counts for a viewer with a limit; one without it is refused."""
    monkeypatch.setattr("dialogs.player.kodi.player.STEP", 0)
    words = film if film in ("metropolis", "nosferatu") else "metropolis"
    limit = 7 if film == words else None
    async with KodiServer.open() as server:
        use(monkeypatch, server.url)
        server.lost, server.starts = ({"Metropolis"} if film == "lost" else set()), film != "slow"
        async with chat.assistant() as assistant:
            await assistant.services.get(MediaStore).set_viewer("kim", "", "kids", limit)
        play: list[Line] = [Call("choose_title", {"words": words}), Call("play_title", {"title_id": 1}), "No."]
        chat.expects(supervisor=BEGIN, player=play)
        trace = await say(chat, f"Play {words}", user="kim", lang=lang)
        assert code in trace
        assert server.queue == []


async def test_a_kodi_that_is_off_is_no_crash(
    chat: Chat, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is told so, the operator which address does not answer, and the conversation goes on."""
    async with KodiServer.open() as server:
        use(monkeypatch, server.url)
    chat.expects(player=[Call("now_playing", {}), "Your player is off."])
    trace = await say(chat, "What is playing?")
    assert "unreachable" in trace
    assert trace.endswith("player: Your player is off.")
    assert server.url in caplog.text
