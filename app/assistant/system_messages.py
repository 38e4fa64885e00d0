"""What an operator tells every speaker of a thread, beside the prompts; it can be changed while the thread runs."""

from typing import Annotated, Self

from langgraph.store.base import BaseStore
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agents.memory.inbox import storable
from agents.memory.store import namespace_of_thread

MOST, LONGEST = 20, 4_000
"""Messages of a thread, and characters of each."""
KIND, KEY = "system_messages", "all"


class SystemMessage(BaseModel):
    """One message."""

    model_config = ConfigDict(extra="forbid")
    content: Annotated[str, AfterValidator(storable), Field(min_length=1, max_length=LONGEST)]


class SystemMessages(BaseModel):
    """The messages of a thread, in their order; its speakers read them from the next turn on."""

    model_config = ConfigDict(extra="forbid")
    system_messages: Annotated[list[SystemMessage], Field(max_length=MOST)] = []

    @property
    def texts(self) -> list[str]:
        """What they say."""
        return [message.content for message in self.system_messages]

    @classmethod
    async def of(cls, store: BaseStore, thread: str) -> Self:
        """Return the messages of a thread as they are stored; a damaged item counts as missing."""
        item = await store.aget(namespace_of_thread(thread, KIND), KEY)
        try:
            return cls.model_validate(item.value if item else {})
        except ValidationError:
            return cls()

    async def save(self, store: BaseStore, thread: str) -> None:
        """Store them in place of those that there were."""
        place = namespace_of_thread(thread, KIND)
        await (
            store.aput(place, KEY, self.model_dump(include={KIND}))
            if self.system_messages
            else store.adelete(place, KEY)
        )


async def hand_down(store: BaseStore, thread: str, to: str) -> None:
    """Let another conversation of the same place begin with the messages of a thread, unless it has some."""
    if thread != to and not (await SystemMessages.of(store, to)).system_messages:
        await (await SystemMessages.of(store, thread)).save(store, to)
