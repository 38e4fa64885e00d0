"""The files for deployment name only things that exist."""

import json
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser

import pytest
import yaml

from app.cli import command_line
from app.process.exit_codes import TERMINATED, USAGE
from tests.support.places import ROOT


def read(name: str) -> str:
    """Return a file of the repository."""
    return (ROOT / name).read_text("utf-8")


def instructions(name: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments, continued lines joined."""
    plain = "\n".join(line for line in read(name).splitlines() if not line.startswith("#"))
    for line in plain.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of the Dockerfile by stage."""
    stages: list[list[tuple[str, str]]] = []
    for word, rest in instructions("Dockerfile"):
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest))
    return stages


def commands() -> set[str]:
    """Return the commands of the command line."""
    return set(command_line.application().commands)


def unit(name: str) -> ConfigParser:
    """Return a unit of systemd."""
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read_string(read(f"docs/deploy/{name}"))
    return parser


def test_the_image_copies_what_exists() -> None:
    """Every COPY names a path of the repository or of the stage before, and `.dockerignore` lets it in."""
    let_in = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    built = {rest.split()[-1] for word, rest in stages()[0] if word == "RUN" and "-m venv" in rest}
    copied = [rest.split() for stage in stages() for word, rest in stage if word == "COPY"]
    for *sources, _ in copied:
        if sources[0].startswith("--from="):
            assert set(sources[1:]) <= built
        else:
            assert all((ROOT / source).exists() for source in sources)
            assert set(sources) <= let_in
    assert {source for *sources, _ in copied for source in sources} >= set(packages())


def packages() -> list[str]:
    """Return the packages of the application."""
    return list(tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["root_packages"])


@pytest.mark.needs("telegram")
def test_the_image_is_small_and_has_no_root() -> None:
    """Two stages of the Python that the project needs; the last switches to a user before it runs a known command."""
    first, last = stages()
    version = tomllib.loads(read("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    assert first[0][1].startswith(f"python:{version}-slim AS ")
    assert last[0][1] == f"python:{version}-slim"
    words = [word for word, _ in last]
    assert words.index("USER") < words.index("CMD")
    assert "RUN" not in words[words.index("USER") :]
    assert not any(word == "ENV" and ("KEY" in rest or "TOKEN" in rest) for stage in stages() for word, rest in stage)
    python, module, app, command = json.loads(last[-1][1])
    assert (python, module, app) == ("python", "-m", "app")
    assert command in commands()


def test_the_composition_keeps_the_data() -> None:
    """The database of each service lies in a volume that the composition declares and the image prepares."""
    composition = yaml.safe_load(read("compose.yaml"))
    for service in composition["services"].values():
        [(volume, folder)] = [mount.split(":") for mount in service["volumes"]]
        assert volume in composition["volumes"]
        assert service["environment"]["DATABASE_URL"].startswith(f"sqlite:///{folder}/")
        assert ("VOLUME", folder) in stages()[1]
        assert f"DATABASE_URL=sqlite:///{folder}/" in read("Dockerfile")
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


@pytest.mark.needs("postgres", "telegram")
def test_the_composition_with_a_server_runs_commands_there_are() -> None:
    """Every process has the one database, the driver in its image, and no password in the file."""
    composition = yaml.safe_load(read("docs/deploy/compose-postgres.yaml"))
    database = composition["services"].pop("database")
    assert database["volumes"] == [f"{name}:/var/lib/postgresql/data" for name in composition["volumes"]]
    assert set(composition["services"]) == {"http", "telegram", "worker"}
    for service in composition["services"].values():
        assert service["command"][:3] == ["python", "-m", "app"]
        assert service["command"][3] in commands()
        assert service["build"]["args"] == {"REQUIREMENTS": "requirements-postgres.txt"}
        assert (ROOT / "docs/deploy" / service["build"]["context"] / "Dockerfile").exists()
        assert service["environment"]["DATABASE_URL"] == "postgresql://dialogs:${POSTGRES_PASSWORD:?}@database/dialogs"
    assert {"requirements-postgres.txt", "requirements.txt"} <= set(
        next(rest for word, rest in stages()[0] if word == "COPY").split()
    )


def test_the_composition_serves_this_machine_alone() -> None:
    """The server is begun by its name, by a command that there is, and its port is not open to others."""
    service = yaml.safe_load(read("compose.yaml"))["services"]["serve"]
    python, module, app, command, *options = service["command"]
    assert (python, module, app) == ("python", "-m", "app")
    assert command in commands()
    port = options[options.index("--port") + 1]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"127.0.0.1:{port}/readyz" in service["healthcheck"]["test"][-1]
    assert service["profiles"]


@pytest.mark.parametrize(
    "name",
    [pytest.param("dialog-supervisor.service", marks=pytest.mark.needs("telegram")), "dialog-supervisor-http.service"],
)
def test_the_unit_runs_a_command_there_is(name: str) -> None:
    """Started in its folder, as a user of its own, with no more rights than it needs; its exit codes are ours."""
    service = unit(name)["Service"]
    python, module, app, command, *options = service["ExecStart"].split()
    assert (python, module, app) == (f"{service['WorkingDirectory']}/.venv/bin/python", "-m", "app")
    assert command in commands()
    assert "0.0.0.0" not in options
    assert int(service["SuccessExitStatus"]) == TERMINATED
    assert int(service["RestartPreventExitStatus"]) == USAGE
    assert service["User"] != "root"
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == service["ProtectHome"] == "true"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")
    assert f"/var/lib/{service['StateDirectory']}/" in service["Environment"]
    assert name in read("docs/deploy.md")


@pytest.mark.needs("ring")
def test_the_users_unit_runs_a_command_there_is() -> None:
    """It is started anew when the desktop is not ready yet, and not when a setting is wrong."""
    service = unit("dialog-supervisor-ring.service")["Service"]
    *python, command = service["ExecStart"].split()
    assert python == [f'"{service["WorkingDirectory"]}/.venv/bin/python"', "-m", "app"]
    assert command in commands()
    assert service["Restart"] == "on-failure"
    assert int(service["RestartPreventExitStatus"]) == USAGE
