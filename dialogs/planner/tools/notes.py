"""Notes: texts that the user asked to remember ("my car is on level 3"), and reads again on request."""

from datetime import datetime

from langchain_core.tools import tool

from agents.language.schedule.wording import worded_instant
from agents.state.speaker_state import Json
from agents.toolkit import Runtime, traits
from agents.toolkit.context import present, zone_of
from dialogs.planner.tools.kept_lists import Numbers, StoredList, Text, asks, closest, told, worded_as
from dialogs.planner.wording import said


class NotesOfUser(StoredList):
    """Notes: each has a text, and the time of its message."""

    name = "notes"
    chosen_fields = ("number", "text")

    def words(self, values: Json, lang: str, now: datetime | None = None) -> str:
        """Return a note, with the time of its message."""
        return f"{values['text']} ({worded_instant(datetime.fromisoformat(values['at']), lang, now)})"

    def compared(self, values: Json) -> tuple[object, ...]:
        """Return the text of a note."""
        return (values["text"],)


NOTES = NotesOfUser()


@traits(always=True, effect="write", repeatable=True, volatile=True, undo=NOTES)
@tool
async def keep_note(note: Text, runtime: Runtime) -> str:
    """Remember something for the user that is nothing to do ("my car is on level 3").

    note: in the user's words.
    """
    at = present(runtime).astimezone(await zone_of(runtime)).isoformat()
    async with NOTES.held(runtime):
        await NOTES.add(runtime, await NOTES.entries(runtime), [{**worded_as(note, runtime), "at": at}])
    return said("notes_kept", runtime.state["lang"], note=note)


@traits(always=True, volatile=True, private=True)
@tool
async def find_notes(about: Text, runtime: Runtime) -> str:
    """Tell what the user asked to remember.

    about: what it is about ("my car").
    """
    lang = runtime.state["lang"]
    found = closest({note: note.values["text"] for note in await NOTES.entries(runtime)}, about, lang)
    if not found:
        return said("notes_not_told", lang, about=about)
    told(found, runtime)
    return said("notes_found", lang, items="; ".join(note.words for note in found))


@traits(volatile=True, private=True)
@tool
async def list_notes(runtime: Runtime) -> str:
    """Show all that the user asked to remember, with numbers."""
    return await NOTES.listed(runtime)


@traits(effect="write", repeatable=True, volatile=True, undo=NOTES, confirm=asks, question=NOTES.question)
@tool
async def delete_notes(numbers: Numbers, runtime: Runtime) -> str:
    """Delete notes.

    numbers: as listed.
    """
    return await NOTES.delete(runtime, numbers)
