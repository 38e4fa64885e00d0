"""Small numbers for identifiers, wherever a schema marks one."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel

from agents.aliases import AliasError, Aliases, Opaque

OrderId = Annotated[str, Opaque("order")]


class Note(BaseModel):
    """Something without an identifier."""

    type: Literal["note"] = "note"
    text: str = ""


class Parcel(BaseModel):
    """Something with one, and with more of its kind in it."""

    type: Literal["parcel"] = "parcel"
    id: OrderId
    inside: list["Parcel"] = []


class Found(BaseModel):
    """Identifiers in unions, lists, tuples and mappings."""

    one: Note | Parcel
    which: Literal["all"] | OrderId
    some: OrderId | list[OrderId]
    pair: tuple[OrderId, int]
    by_name: dict[str, OrderId]


def test_identifiers_are_found_wherever_they_are() -> None:
    """Each is a number for the model and itself again in arguments; a word of the schema is neither."""
    ids = Aliases()
    parcel = Parcel(id="u1", inside=[Parcel(id="u2")])
    found = Found(one=parcel, which="all", some=["u3"], pair=("u4", 7), by_name={"hat": "u1"}).model_dump(mode="json")
    hidden = ids.hide(found, Found.model_json_schema())

    assert hidden == {
        "one": {"type": "parcel", "id": 1, "inside": [{"type": "parcel", "id": 2, "inside": []}]},
        "which": "all",
        "some": [3],
        "pair": [4, 7],
        "by_name": {"hat": 1},
    }
    assert ids.restore(hidden, Found.model_json_schema()) == found


@pytest.mark.parametrize("given", [1, "1 ", "#1", " №1 ", 1.0])
def test_a_number_may_be_written_in_several_ways(given: object) -> None:
    """Models write numbers as texts, too."""
    schema = {"type": "string", "x-opaque": "order"}

    assert Aliases({"order": {"1": "u1"}}).restore(given, schema) == "u1"


@pytest.mark.parametrize("given", [2, -1, 1.5, True, "u1", [1], {"a": 1}, float("inf"), float("nan")])
def test_what_is_no_number_that_was_given_is_refused(given: object) -> None:
    """Neither an identifier itself nor anything like a number gets past."""
    schema = {"type": "string", "x-opaque": "order"}

    with pytest.raises(AliasError):
        Aliases({"order": {"1": "u1"}}).restore(given, schema)
