"""Which words choose an option, and which only speak of one."""

import pytest

from agents.choosing import chosen, naming

ORDERS = {
    "en": ("Blue shoes", "Red hat", "Green coat"),
    "ru": ("Синие ботинки", "Красная шляпа", "Зелёное пальто"),
}


def options(*labels: str, ids: tuple[str, ...] = ("", "", "", "")) -> list[dict[str, object]]:
    """Return options that are warm and cost 60, 15, 140."""
    prices = zip(labels, ids, (60.0, 15.0, 140.0), strict=False)
    return [{"label": one, "detail": "warm, тёплая", "id": id, "facts": {"price": price}} for one, id, price in prices]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "I'll have number three please"),
        ("en", "No. 3"),
        ("en", "yes, the third one"),
        ("en", "3, thanks"),
        ("en", "the 3rd"),
        ("ru", "3-й"),
        ("ru", "3-ю, пожалуйста"),
        ("ru", "ту, что зелёная"),
        ("ru", "наверное третью"),
        ("ru", "ту, которая подороже"),
        ("ru", "под номером 3"),
        ("ru", "а давай третью"),
    ],
)
def test_words_that_choose(lang: str, text: str) -> None:
    """Numbers, places and facts are understood in the forms that people use."""
    assert chosen(text, options(*ORDERS[lang]), lang) == 2


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "is the red one warm?"),
        ("en", "is it the red one"),
        ("en", "not the red one"),
        ("en", "I don't want the red one"),
        ("en", "that one"),
        ("en", "one of them"),
        ("en", "none of them"),
        ("en", "any"),
        ("en", "cancel"),
        ("ru", "красная тёплая?"),
        ("ru", "не красную"),
        ("ru", "ни один"),
        ("ru", "отмена"),
    ],
)
def test_words_that_do_not_choose(lang: str, text: str) -> None:
    """A question about an option, one that is ruled out, and a word that could mean any of them choose nothing."""
    assert chosen(text, options(*ORDERS[lang]), lang) is None


def test_labels_without_letters_are_taken_as_they_are() -> None:
    """An emoji chooses its own label only, and no label is chosen by saying nothing."""
    assert [chosen(text, options("🎉", "", "x"), "en") for text in ("🎉", "👍", "", "!!!")] == [0, None, None, None]


def test_facts_that_do_not_compare_choose_nothing() -> None:
    """A price in words beside a price in figures is no reason to fail."""
    mixed = [{**one, "facts": {"price": price}} for one, price in zip(options("A", "B"), (5.0, "7 EUR"), strict=True)]

    assert chosen("the cheapest", mixed, "en") is None


@pytest.mark.parametrize("text", ["-1", "−2", "- 3"])
def test_a_number_below_none_chooses_nothing(text: str) -> None:
    """Whoever writes "-1" means something else than the first."""
    assert chosen(text, options(*ORDERS["en"]), "en") is None


@pytest.mark.parametrize("label", ["same", "the cheap one", "2"])
def test_options_of_one_label_have_names_of_their_own(label: str) -> None:
    """A door knows options by id, label and detail; what is said for a tap on one of equals is its id."""
    twins = [{"id": id, "label": label} for id in ("1", "2")]
    assert [naming(place, twins, "en") for place in (0, 1)] == ["1", "2"]
