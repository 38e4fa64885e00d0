"""A session of the desk in its file: the user's messages, the person's replies, and the prompts before them."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field

from app.plugins.lab.initial_state import DEVICE, Beginning
from app.yaml_file import FilePart

Json = Mapping[str, Any]


class DeskCall(FilePart):
    """A tool that the person called."""

    tool: str
    args: Json = Field(default_factory=dict)


class DeskReply(FilePart):
    """The person's reply to one model call."""

    role: str
    prompt: tuple[int, ...]
    """The messages of the prompt, as places in the session's `pool`."""
    tools: tuple[int, ...] = ()
    """The tools that were offered, as places in the session's `pool`."""
    text: str = ""
    calls: tuple[DeskCall, ...] = ()

    def message(self, number: int) -> AIMessage:
        """Return the reply as a model's; its place in the session makes the ids of its calls."""
        return reply_of(self.text, self.calls, number)


def reply_of(text: str, calls: Sequence[DeskCall] = (), number: int = 0) -> AIMessage:
    """Return a person's reply as a model's reply."""
    numbered = enumerate(calls)
    tool_calls = [tool_call(name=call.tool, args=dict(call.args), id=f"call-{number}-{n}") for n, call in numbered]
    return AIMessage(text, tool_calls=tool_calls, response_metadata={"finish_reason": "stop"})


class DeskTurn(FilePart):
    """A message of the user, with its replies, its answer and its trace."""

    user: str
    replies: tuple[DeskReply, ...] = ()
    is_over: bool = False
    answer: str = ""
    question: str = ""
    """The question of a tool to the user."""
    options: tuple[str, ...] = ()
    trace: str = ""


class DeskSession(FilePart):
    """A conversation in which a person is the model: a file of the lab's folder `desk`."""

    about: str = ""
    lang: str = ""
    user: str = "me"
    """The user's name for the tools; every user at the device "terminal" is the shop's demo customer."""
    device: str = DEVICE
    begins: Beginning | None = None
    """The turn of a real thread with which the session begins; None: it begins with nothing."""
    turns: tuple[DeskTurn, ...] = ()
    pool: tuple[Json, ...] = ()
    """Messages and tools in OpenAI's form; each is kept once, since a prompt repeats the one before it."""
    identifiers: tuple[str, ...] = ()
    """The real identifiers that stand behind the model's small numbers."""

    @property
    def who(self) -> dict[str, str]:
        """The `user` and the `device`, as a trace test names them."""
        return {"user": self.user, "device": self.device}

    def pooled(self, places: Sequence[int]) -> list[Json]:
        """Return the messages or tools at these places."""
        return [self.pool[place] for place in places]

    def cut(self, steps: int) -> "DeskSession":
        """Return the session with its first steps only; each message of the user, and each reply, is one."""
        turns: list[DeskTurn] = []
        for turn in self.turns:
            if steps <= 0:
                break
            replies = turn.replies[: steps - 1]
            is_whole = len(replies) == len(turn.replies)
            turns.append(turn if is_whole else DeskTurn(user=turn.user, replies=replies))
            steps -= 1 + len(turn.replies)
        return self.model_copy(update={"turns": tuple(turns)})
