"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket file, without a port."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

ROLE, DATABASE = "dialogs", "dialogs"
UNUSED = "postgres"
"""The user that runs the server if the tests run as root, whom the server refuses."""
PATIENCE = 120.0
OPTIONS = {"listen_addresses": "", "max_connections": "400", "shared_buffers": "64MB", "fsync": "off"}
"""Without `fsync` a killed server is up again at once; its data is safe as long as the machine runs."""


def programs() -> Path | None:
    """Return the folder of the server's programs, the newest version's; None if there is none."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda it: int(it.parts[-3]))
    elsewhere = shutil.which("initdb")
    if versions:
        return versions[-1].parent
    return Path(elsewhere).resolve().parent if elsewhere else None


class PostgresServer:
    """A server with one database; a test can kill it and start it again."""

    def __init__(self, folder: Path, programs: Path, **options: str) -> None:
        self.folder, self._programs, self._options = folder, programs, {**OPTIONS, **options}
        self._as = {"user": UNUSED, "group": UNUSED, "extra_groups": []} if os.geteuid() == 0 else {}
        self._process: subprocess.Popen[bytes] | None = None
        if self._as:
            shutil.chown(folder, UNUSED, UNUSED)
        self._call(
            "initdb", "-D", self._data, "-U", ROLE, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"
        )
        self.start()
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @property
    def pid(self) -> int:
        """The number of the server's first process."""
        assert self._process
        return self._process.pid

    def address(self, database: str = DATABASE, schema: str = "") -> str:
        """Return the address of a database."""
        path = f"&options={quote(f'-csearch_path={schema}')}" if schema else ""
        return f"postgresql://{ROLE}@/{database}?host={quote(str(self.folder), safe='')}{path}"

    def fresh(self) -> str:
        """Return the address of a new schema: a place without any tables."""
        schema = f"t{uuid.uuid4().hex}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return self.address(schema=schema)

    def empty_database(self, name: str) -> str:
        """Make a database; return its address."""
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.address(name)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        call = [str(self._programs / "postgres"), "-D", self._data, "-k", str(self.folder), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(call, stdout=log, stderr=log, **self._as)  # type: ignore[call-overload]
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and all its processes at once, as a power cut would."""
        assert self._process
        # The server's own immediate shutdown; the kill of one process alone leaves the others for a while.
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def stop(self) -> None:
        """End the server."""
        self.kill()

    def _call(self, program: str, *arguments: str) -> None:
        call = [str(self._programs / program), *arguments]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as)  # type: ignore[call-overload]


@contextmanager
def running(**options: str) -> Iterator[PostgresServer]:
    """Start a server for a block. Raises FileNotFoundError if PostgreSQL is not installed."""
    binaries = programs()
    if binaries is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    # A path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        server = PostgresServer(folder, binaries, **options)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
