"""What the engine asks of an agent graph that answers in place of a dialog's model, and the way such a graph asks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from agents.events import Event
from agents.state import State
from agents.state.talk import Json, TalkUpdate
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker
from agents.toolkit.traits import traits

ASK = "ask_user"


@traits(volatile=True)
@tool(ASK)
def ask_user(question: str | Json) -> object:
    """Ask the user what an agent graph waits for."""
    return interrupt(question)


@dataclass(frozen=True)
class AgentTurn:
    """One call of a dialog's agent graph; `history` is all that the dialog has heard and said."""

    speaker: Speaker
    state: State
    context: Context
    history: Sequence[AnyMessage]
    emit: Callable[[Event], None]
    hear: Callable[[str], None]
    """Takes the pieces of the answer as they come."""


class AgentGraphs(ABC):
    """Runs the agent graphs of dialogs; a service that is found by this type."""

    @abstractmethod
    async def ask(self, turn: AgentTurn) -> tuple[AIMessage, TalkUpdate]:
        """Return an answer, calls of `ask_user`, or a call of `hand_back`; and the values of the graph's own keys.

        Raises:
            ModelUnavailable: the provider of the agent's model failed.
            ContractError: the graph does what no dialog can do.
        """
