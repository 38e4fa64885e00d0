"""Another model as a link: asked once, without tools or history, and told to say so when it does not know."""

from dataclasses import dataclass

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.models import Model
from agents.models.reply import Listener, ask
from agents.state.message_notes import notes
from agents.toolkit.help import ASKING, HelpRequest
from prompts import prompt

UNKNOWN = "UNKNOWN"
"""What the model says when it does not know; the prompt names it."""


@dataclass(frozen=True)
class OtherModel:
    """Ask a model of its own."""

    name = "model"
    model: Model

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the model's answer; asking it is told as any model call."""
        role = SystemMessage(
            prompt("help_model", question.lang, unknown=UNKNOWN), additional_kwargs=notes(lang=question.lang)
        )
        messages: list[AnyMessage] = [role, HumanMessage(question.text)]
        text = (await ask(self.model, messages, [], Listener(ASKING, question.emit))).text.strip()
        return None if text.strip(" .!«»\"'").upper() == UNKNOWN else text
