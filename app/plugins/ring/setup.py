"""The step of `setup` for the service: on wish it writes the unit by which systemd starts the service."""

import shutil
import sys
from pathlib import Path

from agents.discovery import ROOT
from agents.errors import ConfigError
from agents.toolkit.commands import Interview
from app.process.files import replace_file

UNIT_NAME = "dialog-supervisor-ring.service"
TEMPLATE = ROOT / "docs" / "deploy" / UNIT_NAME
PLACEHOLDER = "%h/dialog-supervisor"


async def set_up_service(interview: Interview) -> bool:
    """Only write a service of yours that rings reminders."""
    if not can_ring():
        if interview.is_alone:
            interview.tell("none")
        return False
    if not (interview.is_alone or await interview.agrees("offer")):
        return False
    interview.tell("written", path=_write_unit(), name=UNIT_NAME.removesuffix(".service"))
    return True


def can_ring() -> bool:
    """Tell whether this machine has a systemd of the user's own, and the application its unit."""
    return shutil.which("systemctl") is not None and TEMPLATE.is_file()


def _write_unit() -> Path:
    """Write the unit for the application in this folder, run by this interpreter, and return its path."""
    path = Path.home() / ".config" / "systemd" / "user" / UNIT_NAME
    text = TEMPLATE.read_text("utf-8")
    # A percent sign begins a placeholder of systemd's own.
    text = text.replace(f"{PLACEHOLDER}/.venv/bin/python", sys.executable.replace("%", "%%"))
    text = text.replace(PLACEHOLDER, str(Path.cwd()).replace("%", "%%"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as fault:
        raise ConfigError(f"{path}: {fault.strerror or fault}") from None
    return path
