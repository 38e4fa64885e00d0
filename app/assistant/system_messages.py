"""An operator's messages to every speaker of a thread, beside the prompts; they can change while the thread runs."""

from typing import Annotated, Self

from langgraph.store.base import BaseStore, GetOp, Item, Result
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agents.memory.inbox import storable
from agents.memory.store import namespace_of_thread

MOST, LONGEST = 20, 4_000
"""The most messages of a thread, and the most characters of each."""
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
        """The texts of the messages."""
        return [message.content for message in self.system_messages]

    @classmethod
    async def of(cls, store: BaseStore, thread: str) -> Self:
        """Return the stored messages of a thread; a damaged item counts as missing."""
        return cls.read((await store.abatch([cls.query(thread)]))[0])

    @staticmethod
    def query(thread: str) -> GetOp:
        """Return the reading of a thread's messages from the store."""
        return GetOp(namespace_of_thread(thread, KIND), KEY)

    @classmethod
    def read(cls, item: Result) -> Self:
        """Return the messages of an item of the store."""
        try:
            return cls.model_validate(item.value if isinstance(item, Item) else {})
        except ValidationError:
            return cls()

    async def save(self, store: BaseStore, thread: str) -> None:
        """Store these messages in place of the former ones."""
        place = namespace_of_thread(thread, KIND)
        await (
            store.aput(place, KEY, self.model_dump(include={KIND}))
            if self.system_messages
            else store.adelete(place, KEY)
        )
