"""Which words choose an option, and which only speak of one."""

import pytest

from agents.toolkit.questions.options import chosen, misses, naming

ORDERS = {
    "en": ("Blue shoes", "Red hat", "Green coat"),
    "ru": ("Синие ботинки", "Красная шляпа", "Зелёное пальто"),
}


def options(*labels: str, ids: tuple[str, ...] = ("", "", "", "")) -> list[dict[str, object]]:
    """Return options that are warm and cost 60, 15, 140."""
    prices = zip(labels, ids, (60.0, 15.0, 140.0), strict=False)
    return [
        {"label": name, "detail": "warm, тёплая", "id": id, "facts": {"price": price}} for name, id, price in prices
    ]


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
    mixed = [
        {**option, "facts": {"price": price}} for option, price in zip(options("A", "B"), (5.0, "7 EUR"), strict=True)
    ]

    assert chosen("the cheapest", mixed, "en") is None


@pytest.mark.parametrize("text", ["-1", "−2", "- 3"])
def test_a_number_below_none_chooses_nothing(text: str) -> None:
    """The text "-1" does not mean the first option."""
    assert chosen(text, options(*ORDERS["en"]), "en") is None


@pytest.mark.parametrize("label", ["same", "the cheap one", "2"])
def test_options_of_one_label_have_names_of_their_own(label: str) -> None:
    """A door knows options by id, label and detail; a tap on one of equal options sends its id."""
    twins = [{"id": id, "label": label} for id in ("1", "2")]
    assert [naming(place, twins, "en") for place in (0, 1)] == ["1", "2"]


@pytest.mark.parametrize(
    ("lang", "text", "number"),
    [
        ("en", "number seventeen", 17),
        ("en", "the twelfth one", 12),
        ("en", "Twelve, please", 12),
        ("en", "the twenty-first", 21),
        ("en", "twenty first", 21),
        ("en", "I'll take twenty-two", 22),
        ("en", "the thirtieth", 30),
        ("en", "the forty-ninth one", 49),
        ("en", "fiftieth", 50),
        ("ru", "двенадцатый", 12),
        ("ru", "номер семнадцать", 17),
        ("ru", "двадцать первую, пожалуйста", 21),
        ("ru", "давай тридцать третий", 33),
        ("ru", "сороковой", 40),
        ("ru", "пятьдесят", 50),
        ("ru", "двенадцатое", 12),
    ],
)
def test_places_beyond_ten_are_said_in_words(lang: str, text: str, number: int) -> None:
    """Number words and ordinals choose as far as a choice may go, alone and in a sentence."""
    labels = [{"id": "", "label": f"Box {chr(64 + number)}"} for number in range(1, 51)]
    assert chosen(text, labels, lang) == number - 1


def test_a_number_that_is_a_name_is_a_name() -> None:
    """ "Twelve" chooses the option that is called so where there are not as many."""
    assert chosen("twelve", options("Room eleven", "Room twelve"), "en") == 1


@pytest.mark.parametrize("text", ["4", "#31", "No. 4", "0", "-1", "number 17", "seventeen", "the twelfth one"])
def test_a_number_that_no_option_has_misses(text: str) -> None:
    """A number alone, in figures or in words, is meant for the list also when nothing stands there."""
    assert misses(text, options(*ORDERS["en"]), "en")


@pytest.mark.parametrize(
    "text", ["3", "the last one", "31?", "not number 31", "2026", "in 20 minutes", "buy 12 eggs", "hello"]
)
def test_what_is_more_than_a_number_does_not_miss(text: str) -> None:
    """A question, other words, a year and a number that an option has are something else."""
    assert not misses(text, options(*ORDERS["en"]), "en")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the whole series", 1),
        ("every time", 1),
        ("just this once", 0),
        ("все разы", 1),
        ("только в этот раз", 0),
        ("所有的", 1),
        ("就这次", 0),
    ],
)
@pytest.mark.parametrize("labels", [("this one", "all of them"), ("только это", "все"), ("这一次", "全部")])
def test_the_whole_or_one_of_it(text: str, place: int, labels: tuple[str, str]) -> None:
    """The extent is understood in any words for it, and in any language."""
    assert chosen(text, options(*labels), "en") == place
