"""The model of rules, for tests with a conversation without a key; without its plug-in they are skipped."""

import pytest

RulesModel = pytest.importorskip("app.plugins.standin").RulesModel
