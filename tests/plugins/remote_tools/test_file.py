"""Files of remote tools: what is wrong with one is said at start, in a line that names the place."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.errors import ConfigError
from app.composition import discover
from app.composition.served_tools import with_served_tools
from app.extensions import plugins
from tests.plugins.remote_tools.remote_files import example, opened, shop

pytestmark = pytest.mark.needs("planner")

Break = Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the secret of the shop."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")


def tool(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one tool of a file."""
    return next(entry for entry in body["tools"] if entry["name"] == name)


def puts(name: str, /, **fields: Any) -> Break:
    """Return the function that gives a file's tool other fields."""
    return lambda body: tool(body, name).update(fields)


FAULTS: dict[str, tuple[Break, str]] = {
    "unknown key": (puts("find_orders", metod="GET"), "tools.find_orders.metod: Extra inputs"),
    "no English": (
        puts("find_orders", description={"ru": "Найти"}),
        "tools.find_orders.description: has no 'en'",
    ),
    "no such dialog": (
        puts("find_orders", speaker="plannr"),
        "tools.find_orders.speaker: there is no 'plannr'; there are supervisor, ",
    ),
    "a name that is taken": (
        puts("find_orders", name="add_todos"),
        "tools.add_todos: there is another tool of this name",
    ),
    "a placeholder without parameter": (
        puts("find_orders", path="/users/{user}/{word}"),
        "tools.find_orders: the placeholders of `path`",
    ),
    "a placeholder in the address": (
        lambda b: b["services"]["shop"].update(url="https://{user}.example"),
        "services.shop: `url` ends before",
    ),
    "a path with dots": (
        puts("find_orders", path="/a/../{user}"),
        "tools.find_orders.path: has no . or ..",
    ),
    "an address as path": (
        puts("find_orders", path="//evil.example/{user}"),
        "tools.find_orders.path: begins with one /",
    ),
    "no expression": (
        lambda b: tool(b, "find_orders")["result"].update(object="orders[.id"),
        "tools.find_orders.result.object: not a JMESPath expression",
    ),
    "an expression without a bottom": (
        lambda b: tool(b, "find_orders")["result"].update(object="(" * 2000 + "a" + ")" * 2000),
        "tools.find_orders.result.object: not a JMESPath expression",
    ),
    "a word that YAML reads as false": (
        lambda b: tool(b, "submit_return")["parameters"]["reason"].update(enum=["damaged", False]),
        "tools.submit_return.parameters.reason.enum.1",
    ),
    "a header that cannot be sent": (
        lambda b: b["services"]["shop"]["headers"].update({"X-Shop": "Лавка"}),
        "services.shop.headers.X-Shop",
    ),
    "unknown view": (
        puts("find_orders", view={"kind": "hologram"}),
        "tools.find_orders.view: Input tag 'hologram'",
    ),
    "a key that is no argument": (
        puts("submit_return", key=["customer"]),
        "tools.submit_return: `key` names what the model does not give: customer",
    ),
    "a time without a key": (
        puts("submit_return", key=[], retries=None),
        "tools.submit_return: only a write with a `key` has `again_after`",
    ),
    "a time too long": (
        puts("submit_return", again_after={"days": 400}),
        "tools.submit_return.again_after: is a time of up to 366 days",
    ),
    "a repeated write": (
        puts("submit_return", key=[], again_after=None, retries=2),
        "tools.submit_return: a write without a `key` is tried once",
    ),
    "a selector without options": (
        lambda b: tool(b, "choose_purchase").pop("options"),
        "tools.choose_purchase: a selector has `options`",
    ),
    "a header that routes": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "header", "name": "Host"}),
        "tools.find_orders.parameters.w: needs the `name` of a header that may be set",
    ),
    "a header that nobody can send": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "header", "name": "X Shop"}),
        "tools.find_orders.parameters.w: needs the `name` of a header that may be set",
    ),
    "a reserved word": (
        lambda b: tool(b, "find_orders")["parameters"].update(runtime={"in": "query"}),
        "tools.find_orders.parameters: cannot be called 'runtime'",
    ),
    "a value that two give": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "query", "trusted": "user", "fixed": "bob"}),
        "tools.find_orders.parameters.w: has either `trusted` or `fixed`",
    ),
    "a fixed value that is missing": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "query", "fixed": None}),
        "tools.find_orders.parameters.w: `fixed` needs a value",
    ),
    "a fixed object in a query": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "query", "fixed": {"a": 1}}),
        "tools.find_orders.parameters.w: a `fixed` list or object has no place in a query",
    ),
    "a fixed value of another type": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "query", "type": "integer", "fixed": "many"}),
        "tools.find_orders.parameters.w: Input should be a valid integer",
    ),
    "a rule for a value that no model gives": (
        lambda b: tool(b, "find_orders")["parameters"].update(w={"in": "query", "trusted": "user", "default": "bob"}),
        "tools.find_orders.parameters.w: no model gives this value: leave default out",
    ),
    "a pattern that is none": (
        lambda b: tool(b, "find_orders")["parameters"]["word"].update(pattern="("),
        "tools.find_orders.parameters.word: contradicts itself",
    ),
    "a least value above the greatest": (
        puts("find_orders", parameters={"user": {"in": "path", "min": 5, "max": 1}}),
        "tools.find_orders.parameters.user: `min` is above `max`",
    ),
    "a missing secret": (
        lambda b: b["services"]["shop"]["headers"].update(X={"env": "NO_SUCH_TOKEN"}),
        "services.shop.X: the environment variable NO_SUCH_TOKEN is not set",
    ),
    "another's service": (
        puts("find_orders", service="shopp"),
        "tools.find_orders: `service` is one of shop",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    """An operator reads one line with the file, the tool and the field; nothing is opened."""
    breaking, expected = FAULTS[fault]
    body = copy.deepcopy(shop("http://127.0.0.1:9"))
    breaking(body)

    with pytest.raises(ConfigError) as error:
        async with opened(tmp_path, discover()[0], http=body):
            pass
    assert str(error.value).startswith(f"{tmp_path / 'remote_tools.yaml'}: {expected}")
    assert "\n" not in str(error.value)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "!!python/object/apply:os.getpid []", "tools: []"])
async def test_a_file_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    """A file without YAML, or with YAML of another kind, is a fault of one line; nothing in it is run."""
    with pytest.raises(ConfigError, match=r"remote_tools\.yaml: [^\n]+$"):
        async with opened(tmp_path, discover()[0], http=text):
            pass


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [
        ("http", "openapi: 3.1.0\ninfo: {}\npaths: {}\n", r"has \['openapi', 'info', 'paths'\] where"),
        ("servers", '{"mcpServers": {"files": {"command": "npx"}}}', r"has \['mcpServers'\] where"),
    ],
)
async def test_another_applications_file_is_named(tmp_path: Path, setting: str, text: str, expected: str) -> None:
    """The line says what the file has, and what is read instead."""
    with pytest.raises(ConfigError, match=rf"\.yaml: {expected}[^\n]*$"):
        async with opened(tmp_path, discover()[0], **{setting: text}):
            pass


async def test_a_folder_may_hold_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every YAML file of a folder is read; two tools of one name are a fault, in whatever files."""
    for name in ("a.yaml", "b.yml"):
        (tmp_path / name).write_text(yaml.safe_dump(example("services")), "utf-8")
    (tmp_path / "notes.txt").write_text("not read")
    monkeypatch.setenv("REMOTE_TOOLS", str(tmp_path))
    with pytest.raises(ConfigError, match=r"b\.yml: tools\.find_orders: there is another tool of this name"):
        async with with_served_tools(plugins(), discover()[0]):
            pass


async def test_the_files_secret_may_stand_in_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is read from `.env`, too, where the other settings are."""
    monkeypatch.delenv("SHOP_TOKEN")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("SHOP_TOKEN=from-file\n")
    async with opened(tmp_path, discover()[0], http=shop("http://127.0.0.1:9")) as speakers:
        assert {"find_orders", "choose_purchase", "submit_return"} <= {
            t.name for t in speakers.dialogs["planner"].tools
        }
