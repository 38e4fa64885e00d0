"""Small numbers for identifiers, wherever a schema marks one."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, StringConstraints

from agents.language.identifiers import AliasError, Aliases, Opaque, named, spelled

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
    by_id: dict[OrderId, Parcel]
    by_form: dict[Annotated[str, StringConstraints(pattern="^u"), Opaque("order")], OrderId | None]


def test_identifiers_are_found_wherever_they_are() -> None:
    """Each is a number for the model and itself again in arguments; a word of the schema is neither."""
    ids = Aliases()
    parcel = Parcel(id="u1", inside=[Parcel(id="u2")])
    keyed: dict[str, Any] = {"by_id": {"u5": Parcel(id="u5"), "u1": parcel}, "by_form": {"u6": "u2", "u7": None}}
    whole = Found(one=parcel, which="all", some=["u3"], pair=("u4", 7), by_name={"hat": "u1"}, **keyed)
    found = whole.model_dump(mode="json")
    hidden = ids.hide(found, Found.model_json_schema())

    assert hidden == {
        "one": {"type": "parcel", "id": 1, "inside": [{"type": "parcel", "id": 2, "inside": []}]},
        "which": "all",
        "some": [3],
        "pair": [4, 7],
        "by_name": {"hat": 1},
        "by_id": {
            "5": {"type": "parcel", "id": 5, "inside": []},
            "1": {"type": "parcel", "id": 1, "inside": [{"type": "parcel", "id": 2, "inside": []}]},
        },
        "by_form": {"6": 2, "7": None},
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("what about order W2378156?", {"W2378156"}),
        ("(#W2378156), «№W23-81/56».", {"#W2378156", "W2378156", "№W23-81/56", "W23-81/56"}),
        ("https://shop.example/W23?order=W24", {"https://shop.example/W23", "order=W24"}),
        ("заказ 6086499569, «ABCDEF» или red-hat", {"6086499569", "ABCDEF", "red-hat"}),
        ("查一下订单W2378156。谢谢", {"W2378156"}),
        ("the Third one, number 3, no. 12, 100 EUR, -7 or a hat", {"EUR"}),
        ("**__**", set()),
    ],
)
def test_what_may_be_an_identifier(text: str, words: set[str]) -> None:
    """Whole words only, with or without what surrounds them; plain words and small numbers are none."""
    assert spelled([text]) == words


@pytest.mark.parametrize("given", ["0042", "1234", 1234, 1234.0, "#1234"], ids=repr)
def test_a_long_number_that_the_user_wrote_is_an_identifier(given: object) -> None:
    """As long as it was never given for another one."""
    schema, said = {"x-opaque": "order"}, ["what about #1234 and 0042?"]

    assert Aliases({"order": {"7": "u7"}}).restore(given, schema, said) == str(given).removesuffix(".0")
    with pytest.raises(AliasError):
        Aliases({"order": {"4000": "u4000"}}).restore(given, schema, said)


def test_two_names_for_the_same_are_refused() -> None:
    """Of two members of an object that mean the same identifier neither is lost unseen."""
    schema = {"type": "object", "propertyNames": {"x-opaque": "order"}, "additionalProperties": {"type": "integer"}}

    with pytest.raises(AliasError, match="order '#1'"):
        Aliases({"order": {"1": "u1"}}).restore({"1": 3, "#1": 4}, schema)


def test_what_names_are_not_marked_stays() -> None:
    """A name that the schema gives itself is no identifier, and a rule for names that says nothing marks none."""
    marked = {"properties": {"total": {"x-opaque": "order"}}, "propertyNames": {"x-opaque": "order"}}

    assert Aliases().hide({"total": "u1", "u2": 5}, marked) == {"total": 1, "2": 5}
    assert Aliases().hide({"u1": 5}, {"propertyNames": False, "additionalProperties": True}) == {"u1": 5}


def test_a_number_of_another_kind_stands_for_nothing() -> None:
    """A number is given once for all kinds: a customer's number where an order's is meant is told, not misread."""
    ids = Aliases()
    customer, order = ({"type": "string", "x-opaque": kind} for kind in ("customer", "order"))
    assert [ids.hide("c-7", customer), ids.hide("o-7", order)] == [1, 2]

    with pytest.raises(AliasError) as wrong:
        ids.restore(1, order, ["my order 1"])
    assert (wrong.value.kind, wrong.value.numbers) == ("order", ["2"])


def hidden(ids: Aliases, identifier: str, *told: str) -> object:
    """Return the model's form of an identifier, after people have read or written these texts."""
    found: dict[str, Any] = ids.hide({"id": identifier}, Parcel.model_json_schema(), lambda: told)  # type: ignore[assignment]
    return found["id"]


def test_a_short_identifier_that_people_read_stays() -> None:
    """It is no number for the model once it stands alone in a text; the model may write it in arguments then."""
    ids = Aliases()
    assert hidden(ids, "D1003", "Order D10031", "Order D1003-b") == 1
    assert hidden(ids, "D1003", "Order D1003, delivered") == "D1003"
    assert hidden(ids, "D1003") == "D1003"
    assert hidden(ids, "D1004") == 2
    assert ids.restore({"id": "D1003"}, Parcel.model_json_schema()) == {"id": "D1003"}
    assert ids.restore({"id": 1}, Parcel.model_json_schema()) == {"id": "D1003"}
    with pytest.raises(AliasError, match="D1004") as unknown:
        ids.restore({"id": "D1004"}, Parcel.model_json_schema())
    assert unknown.value.numbers == ["1", "D1003", "2"]


@pytest.mark.parametrize("given", ["#W99", "W99"])
def test_a_short_identifier_may_begin_with_a_mark(given: str) -> None:
    """The model gives it back as it read it, or without the mark, as it may write a number."""
    ids = Aliases()
    assert hidden(ids, "#W99", "Order #W99, delivered") == "#W99"
    assert ids.restore({"id": given}, Parcel.model_json_schema()) == {"id": "#W99"}


@pytest.mark.parametrize("identifier", ["7f9c-41a2-bd03-55", "red", "12"])
def test_what_is_long_or_a_plain_word_is_a_number(identifier: str) -> None:
    """However often it was shown: it is too long to be read, or means something else where people write it."""
    assert hidden(Aliases(), identifier, f"The thing {identifier} is there.") == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I took #3 for you.", "I took Steamboat Willie for you."),
        ("#3, then №3.", "Steamboat Willie, then Steamboat Willie."),
        ("C#3, #33, #3-b and ##3 stay", "C#3, #33, #3-b and ##3 stay"),
        ("the first is #1", "the first is #1"),
        ("nobody knows #4", "nobody knows #4"),
    ],
)
def test_a_number_in_the_words_of_a_model_is_shown_as_a_name(text: str, shown: str) -> None:
    """Unless it has no name, or a line on the screen has the number too."""
    numbered = {"title": {"1": "a" * 20, "3": "b" * 20, "4": "c" * 20}}
    labels = {"a" * 20: "The General", "b" * 20: "Steamboat Willie"}
    assert named(text, numbered, labels, ["1. The Kid", "Which one?"]) == shown
