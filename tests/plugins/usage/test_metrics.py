"""`/metrics`: what models have used, and that the dashboard finds all that it asks for."""

import json
import re

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from agents.events import ModelEnd
from app.assistant import Assistant
from app.plugins.usage.counts import Usage
from app.prices import Price
from tests.support.places import ROOT

CALL = ModelEnd(speaker="supervisor", model="openai:m", input_tokens=45, cached_tokens=20, output_tokens=5)


async def test_what_models_use_is_counted(client: httpx.AsyncClient, assistant: Assistant) -> None:
    """The tokens of each model, and what they cost, since the process began."""
    usage = assistant.services.get(Usage)
    usage.prices = {"openai:m": Price(1_000, 100, 10_000)}
    for _ in range(2):
        usage.count(CALL)
    text = (await client.get("/metrics")).text
    assert 'model_calls_total{model="openai:m"} 2.0' in text
    assert 'model_tokens_total{kind="cached",model="openai:m"} 40.0' in text
    assert 'model_money_total{model="openai:m"} 0.154' in text
    assert "secret-name" not in text


async def test_what_is_watched_is_measured(client: httpx.AsyncClient, assistant: Assistant) -> None:
    """Each metric of the dashboard and of the alerts, with its labels, is in /metrics; a page explains each of them."""
    assistant.services.get(Usage).count(CALL)
    await client.get("/threads")
    families = [*text_string_to_metric_families((await client.get("/metrics")).text)]
    measured = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    board = json.loads((ROOT / "docs/deploy/grafana.json").read_text("utf-8"))
    [group] = yaml.safe_load((ROOT / "docs/deploy/alerts.yaml").read_text("utf-8"))["groups"]
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries += [rule["expr"] for rule in group["rules"]]
    shown = set[str]()
    for query in queries:
        read = re.findall(r"\b((?:http|answers|turns|model)_\w+)(?:{(.*?)})?", query)
        by = {label.strip() for labels in re.findall(r"by \((.*?)\)", query) for label in labels.split(",")}
        for name, chosen in read:
            assert by | set(re.findall(r"(\w+)=", chosen)) <= measured[name], query
        shown |= {name for name, _ in read}
    named = set(re.findall(r"`\w+`", (ROOT / "docs/operations.md").read_text("utf-8")))
    assert {f"`{name.removesuffix('_bucket')}`" for name in shown} <= named
    assert {f"`{rule['alert']}`" for rule in group["rules"]} <= named
