"""Variants for the lab's plays: models, parameters, prompts and mocks in place of the installation's."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import Field

from agents.models.answer import answer_in
from agents.models.factory import Parameters
from agents.toolkit.speaker import Speaker, Speakers
from app.assistant import Assistant
from app.composition import discover_checked
from app.composition.models import make_models
from app.plugins.lab.agent_file import Tuning
from app.plugins.lab.initial_state import Beginning, staged_from
from app.plugins.lab.mocks import Mock, with_mocks
from app.plugins.lab.played_turn import THREAD
from app.plugins.lab.refusal import LabRefusal
from app.settings import Settings
from app.yaml_file import ByLanguage, FilePart


class LabVariant(FilePart):
    """The differences of a play from the installation: model, parameters, prompts and mocks."""

    model: str = ""
    """The model of every role, such as `openai:gpt-5-mini`; empty: as in the settings."""
    parameters: Tuning = Parameters()
    """The parameters of every role's model."""
    prompts: Mapping[str, ByLanguage] = Field(default_factory=dict)
    """The prompts in place of the dialogs' own, by dialog."""
    direct_switch: bool | None = None
    mocks: tuple[Mock, ...] = ()

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of the installation with those of the variant."""
        update: dict[str, object] = {} if self.direct_switch is None else {"direct_switch": self.direct_switch}
        if self.parameters != Parameters():
            default = settings.llm_parameters.get("default", Parameters())
            update["llm_parameters"] = {**settings.llm_parameters, "default": self.parameters.over(default)}
        return settings.model_copy(update=update)

    def speakers(self, speakers: Speakers) -> Speakers:
        """Return speakers with the prompts and mocks of the variant. Raises UsageError: there is no such dialog."""
        if unknown := sorted(set(self.prompts) - set(speakers.dialogs)):
            raise LabRefusal("no_dialog", dialog=unknown[0], dialogs=", ".join(speakers.dialogs))

        def prompted(speaker: Speaker) -> Speaker:
            return replace(speaker, roles=self.prompts.get(speaker.name) or speaker.roles)

        return with_mocks(speakers.each(prompted), self.mocks)


@asynccontextmanager
async def staged_as(
    settings: Settings, variant: LabVariant, beginning: Beginning | None = None, thread: str = THREAD
) -> AsyncIterator[Assistant]:
    """Open the assistant of a variant on a database of its own, where the thread may begin with a real one's turn.

    Raises:
        ConfigError: a model or a setting is wrong.
        UsageError: the variant names a dialog that does not exist.
    """
    speakers, own = variant.speakers(discover_checked(settings)[0]), variant.settings(settings)
    models = make_models(own, speakers, variant.model or None)
    async with staged_from(beginning, thread, own, speakers, models) as assistant:
        yield assistant


async def ask(settings: Settings, model: str, role: str, text: str) -> str:
    """Return the answer of a model, in one line, without its thinking.

    Raises:
        ConfigError: the model's name or key is wrong.
        UsageError: the model does not answer.
    """
    chat = settings.models(model).default.chat
    try:
        reply = await chat.ainvoke([SystemMessage(role), HumanMessage(text)])
    except Exception as failure:
        raise LabRefusal("no_answer", model=model, why=type(failure).__name__) from failure
    return " ".join(answer_in(reply.text).split())
