"""What a bot calls its threads, by what the database knows: was the bot the first, and which groups have moved."""

from agents.memory import Memory
from app.doors.telegram.place import DOOR, ThreadNames

KEY = "moved"


def door_of(bot: int) -> str:
    """Return the name of a bot in the rows of its updates."""
    return f"{DOOR} {bot}"


async def read_names(memory: Memory, bot: int) -> ThreadNames:
    """Return how the threads of a bot are called, and note that it uses the database."""
    is_first = await memory.updates.enter(door_of(bot))
    item = await memory.store.aget((DOOR, str(bot)), KEY)
    moved = {int(new): old for new, old in item.value["chats"].items()} if item else {}
    return ThreadNames.of(bot, is_first=is_first, moved=moved)


async def move(memory: Memory, bot: int, names: ThreadNames, old: int, new: int) -> None:
    """Keep the threads of a group that has become a supergroup."""
    names.move(old, new)
    chats = {str(present): named for present, named in names.moved.items()}
    await memory.store.aput((DOOR, str(bot)), KEY, {"chats": chats})
