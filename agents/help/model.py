"""Another model as a link: asked once, without tools or history, and told to say so when it does not know."""

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from agents.help import Question
from prompts import prompt

UNKNOWN = "UNKNOWN"
"""What the model says when it does not know; the prompt names it."""


@dataclass(frozen=True)
class OtherModel:
    """Ask a model of its own."""

    name = "model"
    chat: BaseChatModel

    async def answer(self, question: Question) -> str | None:
        """Return the model's answer."""
        asked = [SystemMessage(prompt("help_model", question.lang, unknown=UNKNOWN)), HumanMessage(question.text)]
        text = (await self.chat.ainvoke(asked)).text.strip()
        return None if text.strip(" .!«»\"'").upper() == UNKNOWN else text
