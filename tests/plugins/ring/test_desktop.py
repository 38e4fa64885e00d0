"""`ring`: reminders become notifications of the desktop, each once, and say so if they are late."""

from functools import partial
from pathlib import Path

import pytest

from agents.memory.sqlite_file import SqliteBackend
from app.assistant.clocks import Clock, Ring
from app.plugins.ring.service import Desktop, ring_for
from app.settings import Settings
from tests.plugins.ring.running import ring_service
from tests.support.notification_server import notification_server
from tests.support.ringing import all_rang, remind, told
from tests.support.simulated_time import rounds
from tests.support.until import until

Captured = pytest.CaptureFixture[str]


async def are_told(path: Path, number: int) -> bool:
    """Tell whether so many lines stand in the transcript."""
    return len(await told(path)) >= number


@pytest.mark.needs("standin")
async def test_a_reminder_is_shown_and_written_down(bus: str, tmp_path: Path, capsys: Captured) -> None:
    """On time it is shown as it is, late with the time it was meant for; the conversation knows both."""
    path = tmp_path / "dialogs.db"
    await remind(path, "tea", ago=0)
    await remind(path, "call <b>Ann</b> & co", ago=7200)
    await remind(path, "Bob's own", ago=0, user="bob", thread="bob")
    await remind(path, "of a chat", ago=0, user="telegram-11", thread="telegram-11")
    async with notification_server(bus) as server, ring_service(path, user="me"):
        await until(lambda: len(server.calls) == 2)
        await until(lambda: "tray" in capsys.readouterr().err)
        # What is shown is written down a moment later.
        await until(partial(are_told, path, 2))
    titles, texts = zip(*sorted(server.calls), strict=True)
    assert titles == ("Reminder", "Reminder")
    assert texts[0].startswith("⏰ call &lt;b&gt;Ann&lt;/b&gt; &amp; co (missed: it was due ")
    assert texts[1] == "⏰ tea"
    lines = await told(path)
    assert "⏰ tea" in lines
    assert any(line.startswith("⏰ call <b>Ann</b> & co (missed") for line in lines)


@pytest.mark.needs("telegram", "standin")
async def test_a_server_without_markup_gets_plain_words(bus: str, tmp_path: Path) -> None:
    """Nothing is escaped for a server that shows text as it is; chats of Telegram are left to the bot."""
    path = tmp_path / "dialogs.db"
    await remind(path, "a < b", ago=0)
    # It would be the first: what is due longest rings first.
    await remind(path, "of a chat", ago=5, user="telegram-11", thread="telegram-11")
    async with notification_server(bus) as server:
        server.capabilities = ("body",)
        async with ring_service(path):
            await until(lambda: server.calls)
    assert [text for _, text in server.calls] == ["⏰ a < b"]


@pytest.mark.needs("standin")
async def test_what_could_not_be_shown_waits(bus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reminder that the server refuses is not told anywhere, and shown when the server does its work again."""
    monkeypatch.setattr("app.plugins.ring.service.DESKTOP_AGAIN", 0.05)
    path = tmp_path / "dialogs.db"
    await remind(path, "tea", ago=0)
    async with notification_server(bus) as server:
        server.fails = True
        async with ring_service(path):
            await until(lambda: server.refused > 2)
            assert await told(path) == []
            server.fails = False
            await until(partial(are_told, path, 1))
    assert await told(path) == ["⏰ tea"]


@pytest.mark.needs("standin")
async def test_without_a_desktop_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The first line says that it waits; the last line names the remedy, and the code tells a service to try again."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/dialogs.db")
    assert await ring_for(settings, "en") == 77
    waits, lack = capsys.readouterr().err.splitlines()
    assert waits == "Reaching the notifications of this desktop …"
    assert "DBUS_SESSION_BUS_ADDRESS" in lack


@pytest.mark.needs("standin")
async def test_a_bus_without_a_server(bus: str, tmp_path: Path, capsys: Captured) -> None:
    """A session without a notification server is told as such."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/dialogs.db")
    assert await ring_for(settings, "ru") == 77
    assert "ServiceUnknown" in capsys.readouterr().err


@pytest.mark.needs("standin")
async def test_two_doors_tell_a_reminder_once(bus: str, tmp_path: Path) -> None:
    """A conversation at the terminal and the service ring the same database: every reminder comes at one of them."""
    path = tmp_path / "dialogs.db"
    for number in range(20):
        await remind(path, f"tea {number}", ago=-0.3)
    at_the_prompt: list[str] = []

    async def deliver(given: Ring) -> None:
        await rounds(5)
        at_the_prompt.append(given.text)

    async with (
        notification_server(bus) as server,
        SqliteBackend(f"sqlite:///{path}").open() as memory,
        Clock(memory, [memory.notices], deliver, user="me"),
        ring_service(path),
    ):
        await until(partial(all_rang, memory))
    everything = [*at_the_prompt, *(text for _, text in server.calls)]
    assert sorted(everything) == sorted(f"⏰ tea {number}" for number in range(20))


async def test_a_repeated_ring_takes_the_place_of_the_one_before(bus: str) -> None:
    """After a crash the same ring has the same number, above those that servers count; another one has another."""
    async with notification_server(bus) as server:
        for id, text in (("reminder-1-5", "tea"), ("reminder-1-5", "tea again"), ("reminder-2-5", "bread")):
            await Desktop("tests").show(id, "Reminder", text)
    assert sorted(server.shown.values()) == ["bread", "tea again"]
    assert min(server.shown) >= 2**31
