"""Kodi itself, without a screen: `apt-get install kodi xvfb ffmpeg`. It has a home of its own, and reaches nothing."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import httpx
from pydantic import SecretStr

from agents.sources.web.fetcher import Fetcher
from dialogs.player.kodi.library import KodiRpc, number_in
from tests.dialogs.player.support.media_folder import MINUTE, make_folder
from tests.dialogs.player.support.player_behaviours import eventually
from tests.support.loopback import free_port

PROGRAM = next(iter(Path("/usr/lib").glob("*/kodi/kodi.bin")), Path("/usr/lib/kodi/kodi.bin"))
SHARE = "/usr/share/kodi"
IS_THERE = PROGRAM.exists() and bool(shutil.which("Xvfb") and shutil.which("ffmpeg"))
USER, PASSWORD = "kodi", "kodi's password"
WAIT = 60
"""Seconds for the database, which Kodi may be writing."""
SETTINGS = {
    "services.webserver": "true",
    "services.webserverauthentication": "true",
    "services.webserverusername": USER,
    "services.webserverpassword": PASSWORD,
    "services.zeroconf": "false",
    "services.esenabled": "false",
    "services.upnp": "false",
    "services.wsdiscovery": "false",
    "general.addonupdates": "2",
    "network.usehttpproxy": "true",
    "network.httpproxyserver": "127.0.0.1",
    "network.httpproxyport": "9",
    "screensaver.mode": "",
}
"""Settings that send outgoing requests to a proxy that does not exist."""
ADVANCED = "<advancedsettings><video><ignoresecondsatstart>1</ignoresecondsatstart></video></advancedsettings>"
CONTENTS = {"films": "movies", "series": "tvshows"}
PATH = """
INSERT INTO path (strPath, strContent, strScraper, scanRecursive, useFolderNames)
VALUES (?, ?, 'metadata.local', ?, 0)
"""


@asynccontextmanager
async def kodi(folder: Path) -> AsyncIterator[tuple[str, Path]]:
    """Run Kodi with the titles of `media_folder`; give its address, and the folder of the media."""
    media, home, port = folder / "media", folder / "home", free_port()
    make_folder(media, _copies_of(folder / "minute.mkv"))
    _settle(home, media, port)
    display = await asyncio.create_subprocess_exec(
        "Xvfb", "-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp", stdout=PIPE, stderr=DEVNULL
    )
    assert display.stdout
    number = (await display.stdout.readline()).decode().strip()
    places = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "DISPLAY": f":{number}", "KODI_HOME": SHARE}
    process = await asyncio.create_subprocess_exec(
        *("nice", "-n", "19", str(PROGRAM), "--standalone"),
        env={**os.environ, **places},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        await _fill(url, home, media)
        yield url, media
    finally:
        for each in (process, display):
            if each.returncode is None:
                each.kill()
            await each.wait()


def _copies_of(file: Path) -> Callable[[Path], object]:
    """Make a black video of a minute; return what makes a copy of it."""
    source = f"color=c=black:s=64x36:r=25:d={MINUTE}"
    how = ("-c:v", "mpeg4", "-b:v", "8k", "-g", "25")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, *how, str(file)], check=True)
    return partial(shutil.copyfile, file)


def _settle(home: Path, media: Path, port: int) -> None:
    """Write the settings of a new Kodi."""
    data = home / ".kodi" / "userdata"
    data.mkdir(parents=True)
    settings = {**SETTINGS, "services.webserverport": str(port)}
    rows = "".join(f"<setting id={quoteattr(name)}>{escape(value)}</setting>" for name, value in settings.items())
    (data / "guisettings.xml").write_text(f"<settings version='2'>{rows}</settings>", "utf-8")
    (data / "advancedsettings.xml").write_text(ADVANCED, "utf-8")
    places = "".join(
        f"<source><name>{name}</name><path pathversion='1'>{media / name}/</path></source>" for name in CONTENTS
    )
    (data / "sources.xml").write_text(f"<sources><video>{places}</video></sources>", "utf-8")


async def _fill(url: str, home: Path, media: Path) -> None:
    """Let Kodi read its library, which JSON-RPC alone cannot: what a folder holds is said on its screen."""
    async with Fetcher() as fetcher:
        rpc = KodiRpc(url, fetcher, USER, SecretStr(PASSWORD))
        assert await eventually(partial(_answers, url), bool)
        (database,) = (home / ".kodi" / "userdata" / "Database").glob("MyVideos*.db")
        with closing(sqlite3.connect(database, timeout=WAIT)) as connection, connection:
            rows = [(f"{media / name}/", content, 2**31 - 1) for name, content in CONTENTS.items()]
            connection.executemany(PATH, rows)
        await rpc.call("VideoLibrary.Scan", {"showdialogs": False})
        for method, count in {"VideoLibrary.GetMovies": 2, "VideoLibrary.GetEpisodes": 3}.items():
            assert await eventually(partial(_has, rpc, method, count), bool)


async def _answers(url: str) -> bool:
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=300) as client:
            await client.get(url)
    except httpx.TransportError:
        return False
    return True


async def _has(rpc: KodiRpc, method: str, count: int) -> bool:
    return number_in(await rpc.call(method), "limits", "total") == count
