"""The model "local:rules": it stands in a folder that only the settings lead to."""

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ConfigError, ModelUnavailable
from agents.models.factory import Endpoint, make_model
from agents.models.reply import Listener, reply
from tests.support.rules import RulesModel


def test_a_local_model_that_nobody_brings_is_unknown() -> None:
    """The message names the kinds of models that are left."""
    with pytest.raises(ConfigError, match=r"take openai:<name> or <provider>:<name>, found 'local:rules'"):
        make_model("local:rules", Endpoint())


async def test_rules_refuse_a_prompt_without_facts() -> None:
    """They read no prose, so nobody takes what they say for a summary or a rewritten question."""
    prompt: list[AnyMessage] = [SystemMessage("Sum this up."), HumanMessage("A long talk.")]
    with pytest.raises(ModelUnavailable, match="facts"):
        await reply(
            [make_model("local:rules", Endpoint(rules=RulesModel))], prompt, [], Listener("summary", lambda _: None)
        )
