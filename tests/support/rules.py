"""The model of rules, for tests with a conversation without a key; without its plug-in they are skipped."""

import pytest

from agents.models import Model, Models

RulesModel = pytest.importorskip("app.plugins.standin").RulesModel


def rules() -> Models:
    """Return the model that needs no key, for each role."""
    return Models(default=Model("local:rules", RulesModel()))
