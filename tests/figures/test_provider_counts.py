"""The counts of a conversation with a provider's form: each fault once, and the lessons apart from them."""

import pytest

from benchmarks.provider_counts import Count, Tried
from benchmarks.provider_forms import ProviderForm, conversation, forms, long_end
from benchmarks.provider_journal import Request
from benchmarks.provider_talk import Outcome, Setup, Talks
from benchmarks.providers import is_well

FORM = ProviderForm("some", "openai:m", "/some/v1")
CACHE_KEY = Request(1, "refused", "field", "messages.1: prompt_cache_key")
SAME_AGAIN = Request(2, "refused", "field", "messages.30: prompt_cache_key")
LIMIT = Request(3, "refused", "field", "max_tokens")
WELL = Outcome("hello", "", [])


def counts(*outcomes: Outcome) -> tuple[int, int, int, int]:
    """Return the turns that were refused and lost, what was learnt, and the requests that were asked again."""
    count = Count(outcomes)
    return count.refused, count.lost, len(count.learnt), count.asked_again


def test_a_field_may_be_refused_once() -> None:
    """Two fields are two things to learn; the same one at another place of the prompt is not."""
    assert counts(Outcome("hello", "", [CACHE_KEY, LIMIT])) == (0, 0, 2, 2)
    assert counts(Outcome("hello", "", [CACHE_KEY]), Outcome("write", "", [SAME_AGAIN])) == (1, 0, 1, 2)
    assert counts(Outcome("hello", "", [CACHE_KEY, SAME_AGAIN])) == (1, 0, 0, 2)


def test_a_turn_that_goes_wrong_is_refused_or_lost() -> None:
    """A refusal behind it makes the difference; a write done twice is counted apart."""
    assert counts(Outcome("hello", "silence", [CACHE_KEY])) == (1, 0, 0, 1)
    assert counts(Outcome("hello", "silence", [Request(1, "busy", "", "")])) == (0, 1, 0, 0)
    assert counts(Outcome("write", "written: milk, milk", [], doubled=1)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("talks", "code"),
    [
        (Talks([Outcome("hello", "silence", [])], [WELL]), 0),
        (Talks([Outcome("write", "written: milk, milk", [], doubled=1)], [WELL]), 0),
        (Talks([Outcome("hello", "", [CACHE_KEY])], [Outcome("hello", "", [SAME_AGAIN])]), 0),
        (Talks([WELL], [WELL]), 76),
    ],
    ids=["lost", "doubled", "asked again in the second talk", "not set up"],
)
def test_the_benchmark_can_fail(talks: Talks, code: int) -> None:
    """Each of these faults makes a form not well; the turn is named."""
    tried = Tried(FORM, talks, Setup(code, "no"), None if code else Talks([WELL]))
    assert not is_well(tried.row())
    assert tried.faults()


def test_what_setup_met_is_known_afterwards() -> None:
    """Over its `.env` the same refusal is one too many, and without it all is well."""
    setup, talks = Setup(0, "", [CACHE_KEY]), Talks([Outcome("hello", "", [CACHE_KEY])], [WELL])
    assert is_well(Tried(FORM, talks, setup, Talks([WELL])).row())
    assert not is_well(Tried(FORM, talks, setup, Talks([Outcome("hello", "", [SAME_AGAIN])])).row())


def test_the_table_is_whole() -> None:
    """Every name stands there once, and the long end writes in every other turn."""
    assert len({form.name for form in forms()}) == len(forms())
    turns = [*conversation(), *long_end(30)[1:]]
    assert len({said.name for said in turns}) == len(turns)
    assert sum(len(said.adds) for said in long_end(30)) == 15
