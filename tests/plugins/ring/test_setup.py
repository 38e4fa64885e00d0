"""`setup`: the service that rings is offered, and `--ring` writes it alone."""

import sys
from pathlib import Path

import pytest

from app.cli import command_line
from app.plugins.ring import plugin
from app.settings import Settings

set_up_alone = pytest.importorskip("app.plugins.first_steps.setup").set_up_alone
setups = pytest.importorskip("tests.plugins.first_steps.test_setup")
Person, serving, home, run = setups.Person, setups.serving, setups.home, setups.run
Captured = pytest.CaptureFixture[str]


UNIT = "ann/.config/systemd/user/dialog-supervisor-ring.service"


@pytest.fixture(autouse=True)
def systemd(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine have a systemd of its user."""
    monkeypatch.setenv("HOME", str(home / "ann"))
    monkeypatch.setattr("app.plugins.ring.setup.can_ring", lambda: True)


async def test_a_service_for_reminders_is_offered(home: Path, capsys: Captured) -> None:
    """On a yes the unit stands where systemd looks for it, with these paths; a no writes none."""
    unit = home / UNIT
    async with serving().open() as server:
        assert await run(Person("", ""), brought={"ring": plugin}, model="tiny", base_url=server.url) == 0
        assert not unit.exists()
        assert await run(Person("", "y"), brought={"ring": plugin}, model="tiny", base_url=server.url) == 0
    lines = unit.read_text().splitlines()
    assert f"WorkingDirectory={home}" in lines
    assert f'ExecStart="{sys.executable}" -m app ring' in lines
    assert "systemctl --user enable --now dialog-supervisor-ring" in capsys.readouterr().out


async def test_nobody_need_be_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone it is written without a question, unless a bot could ring; without systemd there is nothing to write."""
    unit = home / UNIT
    monkeypatch.setattr("app.plugins.first_steps.setup.plugins_found", lambda: {"ring": plugin})
    assert await set_up_alone("ring", Settings(), None) == 0
    assert unit.exists()
    monkeypatch.setattr("app.plugins.ring.setup.can_ring", lambda: False)
    assert await set_up_alone("ring", Settings(), None) == 1


def test_the_option_names_what_it_does(home: Path, capsys: Captured) -> None:
    """`setup --help` lists the step, and `setup --ring` takes it alone."""
    assert command_line.main(["setup", "--help"]) == 0
    assert "Only write a service of yours that rings reminders." in " ".join(capsys.readouterr().out.split())
    assert command_line.main(["setup", "--ring"]) == 0
    assert (home / UNIT).exists()
