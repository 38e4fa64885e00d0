"""What `setup` offers for reminders: a service of the user's own systemd that runs `ring`."""

import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from agents.errors import ConfigError
from app.env_file import write_env
from app.files import replace_file
from app.settings import Settings

NAME = "dialog-supervisor-ring.service"
TEMPLATE = Path(__file__).parents[2] / "docs" / "deploy" / NAME
PLACEHOLDER = "%h/dialog-supervisor"
Ask = Callable[[str, bool], Awaitable[str]]
Say = Callable[..., str]


def can_ring() -> bool:
    """Tell whether this machine has a systemd of the user's own, and the application its unit."""
    return shutil.which("systemctl") is not None and TEMPLATE.is_file()


async def set_up_ring(settings: Settings, env_file: Path, ask: Ask, words: Say, tell: Callable[[str], None]) -> None:
    """Write the unit, and on wish the Telegram chat to ring in; tell how it is started.

    Raises:
        ConfigError: a file cannot be written.
    """
    chat = ""
    while settings.telegram_bot_token is not None:
        chat = (await ask(words("ring_chat"), False)).strip()
        if not chat or chat.removeprefix("-").isdecimal():
            break
        tell(words("no_such", answer=repr(chat)))
    path = Path.home() / ".config" / "systemd" / "user" / NAME
    try:
        if chat:
            write_env(env_file, {"RING_TELEGRAM_CHAT": chat})
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, unit(Path.cwd(), Path(sys.executable)))
    except OSError as fault:
        raise ConfigError(f"{fault.filename or path}: {fault.strerror or fault}") from None
    tell(words("ring_written", path=path, name=NAME.removesuffix(".service")))


def unit(folder: Path, python: Path) -> str:
    """Return the unit for an application in `folder`, run by this interpreter."""
    text = TEMPLATE.read_text("utf-8")
    # A percent sign begins a placeholder of systemd's own.
    text = text.replace(f"{PLACEHOLDER}/.venv/bin/python", str(python).replace("%", "%%"))
    return text.replace(PLACEHOLDER, str(folder).replace("%", "%%"))
