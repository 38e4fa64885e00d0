"""Several people in one thread: a person's own keys of the state are set aside while somebody else speaks.

Each person has a conversation of their own with the assistant: histories, forms, open questions, numbers of
identifiers. The speakers get the others' public words as data.
"""

from collections.abc import Collection, Mapping
from typing import cast

from agents.conversation.changes import Update
from agents.state import State
from agents.state.person import Own, Person
from agents.state.speaker_state import SpeakerState, SpeakerUpdate

LONGEST_NAME = 60
"""Characters of a person's name."""
BLANK: Own = {
    "is_active": True,
    "dialog": None,
    "paused": [],
    "offer": None,
    "wishes": [],
    "switched": None,
    "pending": [],
    "screen": [],
    "aliases": {},
    "labels": {},
    "sources": None,
    "wrote": -1,
    "last_done": None,
    "undid": -1,
    "foreign": False,
    "declined": [],
    "allowed": [],
    "spoke": 0,
    "forgetting": None,
    "leaving": False,
    "undo_asked": False,
}
"""The own keys of somebody who has not spoken yet."""


def seen_by(state: State, user: str) -> State:
    """Return a conversation with the keys of one of its people."""
    if state.get("writer", user) == user:
        return state
    person = _person(state, user)
    return cast(State, {**state, **_own(person), "lang": person.get("lang", state["lang"])})


def lang_of(state: State, user: str) -> str | None:
    """Return the last language of one of a conversation's people; None for somebody new."""
    return state.get("lang") if state.get("writer", user) == user else _person(state, user).get("lang")


def turn_to(state: State, user: str) -> Update:
    """Return the update that puts the user's own keys into the state, and those of the former writer aside.

    `talks` are whole: they replace those of the other person.
    """
    writer, person = state.get("writer", user), _person(state, user)
    if writer == user:
        return {"writer": user}
    before = {key: value for key, value in state.items() if key in (*BLANK, "talks")}
    aside = cast(Person, {**_person(state, writer), **before})
    present = cast(Person, {key: value for key, value in person.items() if key in ("name", "lang")})
    persons = {**state.get("persons", {}), writer: aside, user: present}
    return cast(Update, {**_own(person), "writer": user, "persons": persons})


def others_in(state: State, user: str) -> set[str]:
    """Return the users who wrote in a thread beside this one."""
    return {*state.get("persons", {}), state.get("writer", user)} - {user}


def name_of(state: State, user: str) -> str:
    """Return a person's name for the others, without line breaks; without a name the id."""
    name = " ".join(_person(state, user).get("name", "").split())
    return name[:LONGEST_NAME] or user


def without(state: State, user: str) -> Update:
    """Return the update that removes a person from a thread: their own keys, and their words in the others' notes.

    `talks` are whole: they replace those of the state.
    """
    persons = {
        other: cast(Person, {**person, "talks": _untold(person.get("talks", {}))})
        for other, person in state.get("persons", {}).items()
        if other != user
    }
    if state.get("writer", user) != user:
        return {"persons": persons, "beside": [], "talks": cast("dict[str, SpeakerUpdate]", _untold(state["talks"]))}
    return cast(Update, {**_own({}), "writer": "", "persons": persons, "beside": []})


def without_forms(state: State, user: str, dialogs: Collection[str], field: str | None) -> Update:
    """Return the update that empties a person's forms in these dialogs, or one field of them, and their summaries.

    `talks` are whole: they replace those of the state.
    """
    emptied = dict(seen_by(state, user).get("talks", {}))
    for name in emptied.keys() & {*dialogs}:
        form = emptied[name].get("form", {})
        values = {} if field is None else {key: value for key, value in form.items() if key != field}
        emptied[name] = {**emptied[name], "form": values}
    for name, talk in emptied.items():
        if talk.get("summary"):
            # It may tell the values of the form.
            emptied[name] = {**talk, "summary": ""}
    if state.get("writer", user) == user:
        return {"talks": cast("dict[str, SpeakerUpdate]", emptied)}
    person = cast(Person, {**_person(state, user), "talks": emptied})
    persons = {**state.get("persons", {}), user: person}
    return {"persons": persons, "talks": cast("dict[str, SpeakerUpdate]", state.get("talks", {}))}


def _untold(talks: Mapping[str, SpeakerState]) -> dict[str, SpeakerState]:
    """Return talks without the words of others in the notes of their messages."""
    untold = dict(talks)
    for name, talk in talks.items():
        messages = [*talk.get("messages", [])]
        for place, message in enumerate(messages):
            notes = {key: note for key, note in message.additional_kwargs.items() if key != "beside"}
            messages[place] = message.model_copy(update={"additional_kwargs": notes})
        untold[name] = {**talk, "messages": messages}
    return untold


def _person(state: State, user: str) -> Person:
    return state.get("persons", {}).get(user, {})


def _own(person: Person) -> dict[str, object]:
    stored = {key: value for key, value in person.items() if key not in ("name", "lang")}
    return {**BLANK, "talks": {}, **stored}
