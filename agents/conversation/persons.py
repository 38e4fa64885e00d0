"""Several people in one thread: what belongs to a person is set aside while somebody else speaks.

Whoever writes has a conversation of their own with the assistant: histories, forms, open questions, numbers of
identifiers. Of the others the speakers are told what was said aloud, as data.
"""

from collections.abc import Collection, Mapping
from typing import Any, cast

from langchain_core.messages import AnyMessage

from agents.conversation.changes import Update
from agents.state import State
from agents.state.person import Own, Person
from agents.state.talk import Talk, TalkUpdate

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
    "foreign": False,
    "declined": [],
    "forgetting": None,
}
"""The own keys of somebody who has not spoken yet."""


def seen_by(state: State, user: str) -> State:
    """Return a conversation as one of its people has it."""
    if state.get("writer", user) == user:
        return state
    lang = _person(state, user).get("lang", state["lang"])
    return cast(State, {**state, **BLANK, "talks": {}, **_parts(state, user), "lang": lang})


def turn_to(state: State, user: str) -> Update:
    """Return what puts the user's own keys into the state, and those of whoever wrote before aside.

    `talks` are whole: they replace those of the other person.
    """
    writer = state.get("writer", user)
    if writer == user:
        return {"writer": user}
    before = {key: state[key] for key in (*BLANK, "talks") if key in state}  # type: ignore[literal-required]
    aside = cast(Person, {**_person(state, writer), **before})
    present = cast(Person, {key: value for key, value in _person(state, user).items() if key in ("name", "lang")})
    return cast(
        Update,
        {
            **BLANK,
            "talks": {},
            **_parts(state, user),
            "writer": user,
            "persons": {**state.get("persons", {}), writer: aside, user: present},
        },
    )


def others_in(state: State, user: str) -> set[str]:
    """Return the users who wrote in a thread beside this one."""
    return {*state.get("persons", {}), state.get("writer", user)} - {user}


def name_of(state: State, user: str) -> str:
    """Return what the others call a person: a name without line breaks, else the id."""
    name = " ".join(_person(state, user).get("name", "").split())
    return name[:LONGEST_NAME] or user


def without(state: State, user: str) -> Update:
    """Return what removes a person from a thread: their own keys, and their words in what the others were told.

    `talks` are whole: they replace those of the state.
    """
    persons = {
        other: cast(Person, {**person, "talks": _untold(person.get("talks", {}))})
        for other, person in state.get("persons", {}).items()
        if other != user
    }
    if state.get("writer", user) != user:
        return {"persons": persons, "beside": [], "talks": cast("dict[str, TalkUpdate]", _untold(state["talks"]))}
    return cast(Update, {**BLANK, "talks": {}, "writer": "", "persons": persons, "beside": []})


def without_forms(state: State, user: str, dialogs: Collection[str], field: str | None = None) -> Update:
    """Return what empties a person's forms in these dialogs, or one field of them.

    `talks` are whole: they replace those of the state.
    """
    emptied = {
        name: cast(Talk, {**talk, "form": left_of(talk.get("form", {}), field)}) if name in dialogs else talk
        for name, talk in seen_by(state, user).get("talks", {}).items()
    }
    if state.get("writer", user) == user:
        return {"talks": cast("dict[str, TalkUpdate]", emptied)}
    person = cast(Person, {**_person(state, user), "talks": emptied})
    persons = {**state.get("persons", {}), user: person}
    return {"persons": persons, "talks": cast("dict[str, TalkUpdate]", state.get("talks", {}))}


def left_of(form: Mapping[str, Any], field: str | None) -> dict[str, Any]:
    """Return what is left of a form without a field, or (None) without all of them."""
    return {} if field is None else {name: value for name, value in form.items() if name != field}


def _untold(talks: Mapping[str, Talk]) -> dict[str, Talk]:
    """Return talks whose messages no longer tell what others said."""
    return {
        name: {**talk, "messages": [_without_others(message) for message in talk.get("messages", [])]}
        for name, talk in talks.items()
    }


def _without_others(message: AnyMessage) -> AnyMessage:
    notes = {name: note for name, note in message.additional_kwargs.items() if name != "beside"}
    return message.model_copy(update={"additional_kwargs": notes})


def _person(state: State, user: str) -> Person:
    return state.get("persons", {}).get(user, {})


def _parts(state: State, user: str) -> Person:
    return cast(Person, {key: value for key, value in _person(state, user).items() if key not in ("name", "lang")})
