"""A user message on its way into the conversation: its form, its language, and its update of the state."""

import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, takewhile
from typing import Self, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import StateSnapshot

from agents.conversation.changes import Update
from agents.conversation.migration import from_transcript
from agents.conversation.persons import BLANK, name_of
from agents.conversation.prompt import heard_message
from agents.language.text.stems import letters_of
from agents.memory.inbox import PERSON, TO, TOLD, UNASKED, InboxEntry, TranscriptLine, lines_of, writers_of
from agents.sources.attachments import Contents
from agents.state import SUPERVISOR, State
from agents.state.history import dangling, set_before
from agents.state.message_notes import Metadata, StoppedAnswer, notes
from agents.state.person import RESULT, Person, Quoted, UserMessage
from agents.state.speaker_state import SpeakerUpdate
from agents.toolkit.client_tools import ClientTool
from agents.toolkit.context import Context
from agents.toolkit.questions import ANSWERS


@dataclass(frozen=True)
class Exchange:
    """A user's message with all its answers; `text` None: the assistant spoke first."""

    text: str | None
    answer: str
    source: str = "message"
    """The source of the text, as in `UserMessage`."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A user message on its way in; `text` None asks the assistant to speak first, or to go on."""

    thread: str
    """The conversation."""
    text: str | None
    """The user's text."""
    user: str | None = None
    """The id of the user who wrote it; None if the thread belongs to one user and has that user's id."""
    lang: str | None = None
    """The language to answer in; None leaves it to the thread."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A turn with the same id repeats the stored outcome and does nothing twice."""
    source: str = "message"
    """The source of the text, as in `UserMessage`; `ASR` for a spoken one."""
    device: str = ""
    """The door through which the user speaks: "terminal", "telegram"."""
    door_lang: str | None = None
    """The language of the door's own sentences, where the user's is unknown."""
    rings: bool = True
    """Whether the door can bring the user unasked messages later."""
    is_group: bool = False
    """Whether others read along: the user's private data is then not shown in the thread."""
    name: str = ""
    """The user's name in a group, which users choose freely."""
    quoted: Sequence[Quoted] = ()
    """The parts beside the text, such as quotations and files; a model reads them as data."""
    contents: Contents = field(default_factory=Contents)
    """The content of those files; it is not stored."""
    tools: Sequence[ClientTool] = ()
    """The tools that the client runs itself. They are not stored."""
    after: str | None = None
    """The message whose turn this one follows, empty for the beginning; None: the conversation's present turn."""
    before: Sequence[Exchange] = ()
    """The exchanges elsewhere between that turn and this one."""

    @property
    def owner(self) -> str:
        """The user who wrote the message."""
        return self.user or self.thread

    @classmethod
    def of(cls, entry: InboxEntry, device: str) -> Self:
        """Return a stored message as a turn of a door, for another play."""
        return cls(
            thread=entry.thread,
            text=entry.text,
            user=entry.user,
            id=entry.message_id,
            source=entry.source,
            quoted=json.loads(entry.quoted or "[]"),
            device=device,
        )

    def entry(self) -> InboxEntry:
        """Return the turn's entry in the inbox."""
        quoted = json.dumps(list(self.quoted), ensure_ascii=False) if self.quoted else None
        return InboxEntry(self.thread, self.id, self.owner, self.text, self.source, quoted=quoted)


SURE = 4
"""The least number of letters of an alphabet that decides for its language."""


@dataclass(frozen=True)
class Languages:
    """Chooses the language of a turn."""

    default: str
    names: tuple[str, ...]

    def choose(self, entry: InboxEntry, fixed: str | None, last: str | None) -> str:
        """Return the language that the door or the user has fixed, else that of the message, else the last one."""
        last = last if last in self.names else None
        if fixed in self.names:
            return fixed
        if entry.source in (*ANSWERS, RESULT):
            # A label is not the user's own text.
            return last or self.default
        return self.heard(entry.text or "", last or self.default)

    def heard(self, text: str, current: str) -> str:
        """Return the language of a text, as far as its letters show it; letters of the current one change nothing."""
        counts = {lang: letters_of(text, lang) for lang in self.names}
        best = max(self.names, key=counts.__getitem__, default=current)
        return best if not counts.get(current) and counts.get(best, 0) >= SURE else current


LOG = logging.getLogger(__name__)
REMEMBERED = 20
"""The number of transcript lines from which a lost state is rebuilt."""


def update_for(
    entry: InboxEntry,
    lang: str,
    snapshot: StateSnapshot,
    lines: Sequence[TranscriptLine],
    *,
    is_shared: bool = False,
    name: str = "",
) -> Update:
    """Return the state update of a message; it includes the message before it, if no model has read that one.

    `lines` are the last ones of the transcript. `name` is the writer's, where several people write.
    """
    state = cast(State, snapshot.values)
    heard: UserMessage = {"id": entry.message_id, "text": entry.text, "source": entry.source, "user": entry.user}
    if entry.quoted:
        heard["quoted"] = json.loads(entry.quoted)
    update: Update = {"heard": heard, "lang": lang}
    unasked = told_unasked(lines)
    if is_shared:
        update |= shared_update(entry, state, lines, name)
        # Where several write, a reminder stands among the messages of others.
        unasked_for: Sequence[TranscriptLine] = []
    else:
        unasked_for = unasked
    answered = lines[: len(lines) - len(unasked)]
    if snapshot.tasks and not snapshot.interrupts and "heard" in state and not _only_stored(snapshot, answered):
        holder = state.get("dialog") or SUPERVISOR
        is_writers = state["heard"].get("user", "") in ("", state.get("writer", ""))
        talk = state.get("talks", {}).get(holder, {})
        unheard = heard_message(state["heard"], talk, state["lang"]) if is_writers else None
        return {**update, "talks": _caught_up(state, unasked_for, unheard)}
    if answered and answered[-1].message_id != state.get("heard", {}).get("id"):
        LOG.warning("thread %s: its state is older than its transcript; rebuilt", entry.thread)
        return {**update, **(_anew(entry, state) if is_shared else from_transcript(lines))}
    return {**update, "talks": _caught_up(state, unasked_for)}


def told_unasked(lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """Return the unasked messages since the last message and its answer."""
    return [*takewhile(lambda line: line.metadata.get("source") in TOLD, reversed(lines))][::-1]


def _anew(entry: InboxEntry, state: State) -> Update:
    """Return the update for a lost state where several people write: all dialogs begin anew, for all writers."""
    ended: SpeakerUpdate = {"messages": [], "form": {}, "status": "finished"}
    talks = dict.fromkeys(state.get("talks", {}), ended)
    return cast(Update, {**BLANK, "talks": talks, "writer": entry.user})


def _only_stored(snapshot: StateSnapshot, answered: Sequence[TranscriptLine]) -> bool:
    """Whether a crash left nothing but the input of a turn: the message that the state holds was answered before it."""
    last = answered[-1] if answered else None
    if last is None or last.role == "user" or last.metadata.get("interrupted"):
        return False
    return last.message_id == snapshot.values["heard"]["id"] and snapshot.next == ("__start__",)


def _caught_up(
    state: State, unasked: Sequence[TranscriptLine], unheard: AnyMessage | None = None
) -> dict[str, SpeakerUpdate]:
    """Return the unasked messages that the supervisor and the holder of the conversation have not seen."""
    talks, holder = state.get("talks", {}), state.get("dialog") or SUPERVISOR
    missed: dict[str, SpeakerUpdate] = {}
    for name in dict.fromkeys((SUPERVISOR, holder)):
        messages = talks.get(name, {}).get("messages", [])
        ids = {message.id for message in messages}
        additions: list[AnyMessage] = [
            AIMessage(line.text, id=line.message_id, additional_kwargs=notes(told=line.metadata["source"]))
            for line in unasked
        ]
        additions = [message for message in additions if message.id not in ids]
        heard: list[AnyMessage] = [unheard] if unheard and name == holder else []
        if additions and dangling(messages):
            # Only the user's answer may stand behind a call that waits for it.
            missed[name] = {"messages": set_before(messages, additions), "add": heard}
        elif added := [*heard, *additions]:
            missed[name] = {"add": added}
    return missed


def left_unanswered(lines: Sequence[TranscriptLine], user: str) -> list[TranscriptLine]:
    """Return a user's last messages whose answers were stopped before their last words, oldest first.

    The user sees a stop in the middle of a text. A stop after an introduction, while a tool was at work, is not seen.
    """
    left: list[TranscriptLine] = []
    untold = [line for line in reversed(lines) if line.metadata.get("source") not in TOLD]
    for _, group in groupby(untold, lambda line: line.message_id):
        *answers, heard = group
        if heard.role != "user" or not answers:
            break
        if answers[0].text.strip() or not answers[0].metadata.get("interrupted"):
            break
        left += [heard] if heard.speaker == user else []
    return left[::-1]


MOST_LINES_ALOUD = 10
"""The most lines of others that a speaker reads."""
LONGEST_LINE_ALOUD = 300
"""The most characters of such a line."""


def shared_update(entry: InboxEntry, state: State, lines: Sequence[TranscriptLine], name: str) -> Update:
    """Return the state update of a message where several people write.

    `lines` are the last ones of the transcript, `name` is the writer's; empty: as before.
    """
    writer = state.get("writer", entry.user)
    persons = dict(state.get("persons", {}))
    update: Update = {}
    if "writer" not in state and state.get("talks"):
        # A state that several people made has no one writer.
        users = writers_of(lines)
        update["writer"] = writer = users.pop() if len(users) == 1 else ""
    if "lang" in state and writer != entry.user:
        persons[writer] = cast(Person, {**persons.get(writer, {}), "lang": state["lang"]})
    if name or entry.user not in persons:
        persons[entry.user] = cast(Person, {**persons.get(entry.user, {}), "name": name})
    named = cast(State, {**state, "persons": persons})
    return {**update, "persons": persons, "beside": said_by_others(named, entry.user, lines)}


def said_by_others(state: State, user: str, lines: Sequence[TranscriptLine]) -> list[str]:
    """Return messages of others that several could read, and this user's notices, a line each, oldest first.

    A user's messages from before others joined, and the answers to them, stay between the user and the assistant.
    """
    aloud = {line.message_id for line in lines if TO in line.metadata}
    others = (line for line in lines if line.message_id in aloud and _is_told(line, user))
    return [_worded(state, line) for line in [*others][-MOST_LINES_ALOUD:]]


def _is_told(line: TranscriptLine, user: str) -> bool:
    if line.role == "user":
        return line.speaker != user
    return line.metadata.get("source") in (UNASKED, PERSON) and line.metadata.get(TO) == user


def _worded(state: State, line: TranscriptLine) -> str:
    text = " ".join(line.text.split())[:LONGEST_LINE_ALOUD]
    return f"{name_of(state, line.speaker) if line.role == 'user' else SUPERVISOR}: {text}"


LONGEST_ORIGINAL = 2000
"""The most characters of a stopped answer in the metadata."""


def metadata_of(entry: InboxEntry, lines: Sequence[TranscriptLine], context: Context, name: str) -> Metadata:
    """Return a message's metadata; `lines` are the last ones of the transcript, `name` is its writer's."""
    metadata = Metadata(time=_time(entry.received_ms, context), user=name or entry.user, source=entry.source)
    answers = [
        line
        for line in lines_of(entry.user, lines)
        if line.role == "assistant" and line.metadata.get("source") not in TOLD
    ]
    if answers and answers[-1].metadata.get("interrupted"):
        stopped = answers[-1].metadata
        original = str(stopped.get("original", ""))[:LONGEST_ORIGINAL]
        stopped_ms = stopped.get("interrupt_timestamp", answers[-1].at_ms)
        metadata["stopped"] = StoppedAnswer(time=_time(stopped_ms, context), original=original)
    elif answers:
        metadata["answered"] = _time(answers[-1].at_ms, context)
    return metadata


def _time(ms: int, context: Context) -> str:
    """Return a time (Unix ms) in the user's time zone, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone(context.zone).isoformat(timespec="seconds")
