"""Notes: texts that the user asked to remember ("my car is on level 3"), and reads again on request."""

from dataclasses import dataclass
from datetime import UTC, datetime

from langchain_core.tools import tool

from agents.language.schedule.wording import worded_instant
from agents.language.text.vocabulary import listening, vocabulary
from agents.memory import Memory
from agents.state.speaker_state import Json
from agents.toolkit import Runtime, traits
from agents.toolkit.context import present, zone_of
from agents.toolkit.help import HelpRequest
from dialogs.planner.agenda import stored_todos
from dialogs.planner.records import OTHERS
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


@dataclass
class NoteLink:
    """The link `remembered` of HELP_CHAIN: look a question up in what the user asked to remember."""

    memory: Memory
    is_foreign: bool = False
    """Whether a note that others may have written has answered."""
    name = "remembered"
    reaches_out = False

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the notes with most of the question's words, at least half; None where others read along."""
        if question.is_shared:
            return None
        lang, sought = question.lang, _telling(question.text, question.lang)
        items = await stored_todos(self.memory.store, question.user or question.thread, NOTES.name)
        shared = {item: len(sought & _telling(item.value["text"], lang)) for item in items}
        most = max(1, len(sought) / 2, *shared.values())
        notes = [item.value for item in items if shared[item] == most]
        self.is_foreign |= any(note.get("origin") == OTHERS for note in notes)
        now = datetime.fromtimestamp(int(self.memory.now()), UTC)
        words = "; ".join(NOTES.words(note, lang, now) for note in notes)
        return said("notes_found", lang, items=words) if words else None


def _telling(text: str, lang: str) -> set[str]:
    words = vocabulary(listening(text, lang))
    return {*words.stems(text)} - words.stop - words.listed("question")


@traits(always=True, effect="write", repeatable=True, volatile=True, undo=NOTES)
@tool
async def keep_note(note: Text, runtime: Runtime) -> str:
    """Remember something for the user that is nothing to do ("my car is on level 3").

    note: in the user's words.
    """
    at = present(runtime).astimezone(await zone_of(runtime)).isoformat()
    async with NOTES.held(runtime):
        keys = await NOTES.add(runtime, await NOTES.entries(runtime), [{**worded_as(note, runtime), "at": at}])
        number = next(it.number for it in await NOTES.entries(runtime) if it.key in keys)
    return said("notes_kept", runtime.state["lang"], note=f"{number}. {note}")


@traits(always=True, volatile=True, private=True)
@tool
async def find_notes(about: Text, runtime: Runtime) -> str:
    """Tell what the user asked to remember.

    about: what it is about ("my car").
    """
    lang = runtime.state["lang"]
    notes = closest({note: note.values["text"] for note in await NOTES.entries(runtime)}, about, lang)
    if not notes:
        return said("notes_not_told", lang, about=about)
    told(notes, runtime)
    return said("notes_found", lang, items="; ".join(note.words for note in notes))


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
