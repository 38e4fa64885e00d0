"""Tools are found by how people ask for them, in each language; requests for none of them are told apart."""

import pytest

from agents.language.tool_ranker.ranker import Card, Hit, Shortcuts, ToolRanker
from benchmarks.tools import SETS, cards, measure, separation, sure_tool
from tests.support.places import DATA

KITCHEN = [
    Card(
        "current_time",
        {"en": "Tell the time.", "ru": "Скажи, который час.", "zh": "报时"},
        {
            "en": ["what time is it", "tell me the time", "what is the time now"],
            "ru": ["который час", "сколько времени", "скажи время"],
            "zh": ["现在几点", "几点了"],
        },
        shortcut=True,
    ),
    Card(
        "stop_timer",
        {"en": "Stop the timer.", "ru": "Останови таймер."},
        {
            "en": ["stop the timer", "turn the timer off", "cancel the {number} timer"],
            "ru": ["останови таймер", "выключи таймер"],
        },
        shortcut=True,
    ),
    Card(
        "set_timer",
        {"en": "Set a timer.", "ru": "Поставь таймер."},
        {
            "en": ["set a timer for {when}", "timer {when}", "start a timer"],
            "ru": ["поставь таймер на {when}", "заведи таймер"],
        },
        ["when"],
    ),
    Card(
        "play_music",
        {"en": "Play music.", "ru": "Включи музыку."},
        {
            "en": ["play some jazz", "put on {artist}", "play music"],
            "ru": ["включи музыку", "поставь песню {title}"],
            "zh": ["播放音乐"],
        },
        ["artist", "title"],
    ),
]


@pytest.fixture(scope="module")
def ranker() -> ToolRanker:
    """A ranker over a few tools in three languages."""
    return ToolRanker(KITCHEN)


@pytest.fixture(scope="module")
def shortcuts(ranker: ToolRanker) -> Shortcuts:
    """The shortcuts among these tools."""
    return Shortcuts(ranker.cards, ranker)


@pytest.mark.parametrize(
    ("request_", "tool"),
    [
        ("could you set the timer for ten minutes", "set_timer"),
        ("stopping timers", "stop_timer"),
        ("Play musik!", "play_music"),
        ("поставь-ка таймер минут на десять", "set_timer"),
        ("подскажи, сколько сейчас времени", "current_time"),
        ("хочу послушать музыки", "play_music"),
        ("请问现在几点", "current_time"),
        ("给我播放一点音乐", "play_music"),
    ],
)
def test_finds(ranker: ToolRanker, request_: str, tool: str) -> None:
    """A tool is found by other words, endings and misspellings than those of its examples, in each language."""
    assert ranker.rank(request_, 1)[0].name == tool


def test_limit_and_order(ranker: ToolRanker) -> None:
    """Hits come best first, at most as many as asked for, each tool once."""
    hits = ranker.rank("timer", 3)

    assert len(hits) == 3
    assert hits == sorted(hits, key=lambda hit: -hit.score)
    assert len({hit.name for hit in ranker.rank("timer", 10)}) == len(KITCHEN)


def test_same_cards_same_ranking(ranker: ToolRanker) -> None:
    """The same cards rank alike in every process: nothing depends on chance."""
    assert ToolRanker(KITCHEN).rank("turn it off please", 4) == ranker.rank("turn it off please", 4)


@pytest.mark.parametrize(
    ("said", "request_", "tool"),
    [
        ("set a timer for the eggs", "and ten more minutes", "set_timer"),
        ("play some jazz", "louder", "play_music"),
        ("включи музыку", "а погромче", "play_music"),
    ],
)
def test_context_decides_what_the_words_leave_open(ranker: ToolRanker, said: str, request_: str, tool: str) -> None:
    """A request that says little is understood from what was said and shown before."""
    assert ranker.rank(request_, 1, [said])[0].name == tool


def test_words_count_more_than_context(ranker: ToolRanker) -> None:
    """A clear request is not drawn to what the conversation was about."""
    assert ranker.rank("what time is it", 1, ["play some jazz", "Jazz: 20 songs"])[0].name == "current_time"


@pytest.mark.parametrize("request_", ["who wrote the brothers karamazov", "почему небо голубое"])
def test_low_scores_for_no_tool(ranker: ToolRanker, request_: str) -> None:
    """A request that is like no example scores far less with its best tool than one that is."""
    [fitting], [best] = ranker.rank("what time is it now", 1), ranker.rank(request_, 1)

    assert best.score < fitting.score / 2


def test_shares(ranker: ToolRanker) -> None:
    """The shares of all tools make up the whole; a clear request leaves the others little."""
    hits = ranker.rank("what time is it now", len(KITCHEN))

    assert sum(hit.share for hit in hits) == pytest.approx(1)
    assert hits[0].share > 0.9 > ranker.rank("timer", 1)[0].share


@pytest.mark.parametrize(
    "odd", ["", "   ", "?!", '"', "a OR b NEAR(c)", "timer:*", "\0", "🙂", "'); DROP TABLE cards", "jazz " * 9_000]
)
def test_odd_requests(ranker: ToolRanker, shortcuts: Shortcuts, odd: str) -> None:
    """Whatever is typed is looked for, never obeyed: the index has no syntax for users."""
    assert all(0 <= hit.share <= 1 for hit in ranker.rank(odd, 2, [odd]))
    assert sure_tool(shortcuts, odd) is None


def test_many_alike() -> None:
    """Among more tools that share their words than are held against each other in training, each finds its own."""
    things = [f"{first}{second}" for first in ("lamp", "door", "fan", "oven", "pump") for second in "abcdef"]
    ranker = ToolRanker([Card(thing, {}, {"en": [f"turn on the {thing}", f"is the {thing} on"]}) for thing in things])

    assert [ranker.rank(f"please turn the {thing} on", 1)[0].name for thing in things] == things


def test_no_cards_and_bare_cards() -> None:
    """No tools give no hits; a tool without examples is found by its name and parameters."""
    assert ToolRanker([]).rank("anything", 5) == []
    assert sure_tool(Shortcuts([]), "anything") is None

    bare = ToolRanker([Card("convert_currency", parameters=["amount"]), Card("?")])
    assert isinstance(bare.rank("currency", 1)[0], Hit)
    assert bare.rank("convert currency", 1)[0].name == "convert_currency"


@pytest.mark.parametrize(
    ("request_", "tool"),
    [
        ("what time is it", "current_time"),
        ("What time is it now, please?", "current_time"),
        ("ну останови таймер, пожалуйста", "stop_timer"),
        ("现在几点", "current_time"),
    ],
)
def test_shortcut(shortcuts: Shortcuts, request_: str, tool: str) -> None:
    """A simple request in the words of an example goes straight to its tool; fillers do not matter."""
    assert sure_tool(shortcuts, request_) == tool


@pytest.mark.parametrize(
    "request_",
    [
        "what time is it in Tokyo",
        "don't stop the timer",
        "не останавливай таймер",
        "stop the timer in ten minutes",
        "stop the timer and play some jazz",
        "cancel the timer",
        "cancel the second timer",
        "play music",
        "timer",
        "time",
    ],
)
def test_no_shortcut(shortcuts: Shortcuts, request_: str) -> None:
    """A longer, contrary or incomplete request, or one for an unmarked tool, needs a model."""
    assert sure_tool(shortcuts, request_) is None


def test_a_slot_beside_fillers_leads_nowhere() -> None:
    """Without its slot "my {when}" says nothing: every other request would fit it."""
    agenda = Card("agenda", {}, {"en": ["my {when}", "my plans for {when}"]}, shortcut=True)
    watch = Card("watch", {}, {"en": ["watch {title}"]}, shortcut=True)
    leading = Shortcuts([agenda, watch]).leading
    assert leading("watch a comedy") == "watch"
    assert leading("my plans for Friday") == "agenda"
    assert leading("my week") is None


def test_a_saying_leads_nowhere() -> None:
    """It begins as a wish does, and means something else; whatever follows it."""
    player = Card("play", {}, {"en": ["play {title}"], "ru": ["включи {title}"]}, shortcut=True)
    leading = Shortcuts([player]).leading
    assert leading("play cool runnings") == leading("включи комедию") == "play"
    assert [leading(text) for text in ("play it cool", "play it cool today", "включи голову")] == [None] * 3


def test_separation() -> None:
    """The area under the curve is 1 where all inside score higher, and half for a tie."""
    assert separation([2, 3], [0, 1]) == 1
    assert separation([1], [1]) == 0.5


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "tools_massive").exists(), reason="the labelled requests are not beside the project")
def test_labelled_requests() -> None:
    """On requests by many people in both languages the tool is among the ten best, and shortcuts are right."""
    [clinc], (english, russian) = [measure(DATA / name, langs, None) for name, langs in SETS.items()]

    assert _number(clinc["recall@5"]) >= 0.95
    assert _number(clinc["AUC"]) >= 0.92
    assert _number(english["recall@10"]) >= 0.91
    assert _number(russian["recall@10"]) >= 0.9
    assert _number(clinc["precision"]) == _number(english["precision"]) == 1
    assert _number(russian["precision"]) >= 0.97
    assert len(cards(DATA / "tools_massive", 2)[0].examples["ru"]) == 2


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value
