import pytest

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.periodic import Periodic

PROSE = "The river that runs to the sea has to be crossed with care. "


def judged(step, *texts):
    signals = step.signals(docs(*texts))
    return list(
        zip(
            signals["repeats"].to_pylist(),
            signals["period"].to_pylist(),
            step.reasons(docs(*texts), signals).to_pylist(),
        )
    )


def test_a_short_passage_that_repeats_a_few_tokens_is_found_in_a_long_document():
    texts = [PROSE * 3 + " one two" * 40 + PROSE, PROSE + " one two" * 32, PROSE * 40, "", None]
    assert judged(Periodic(), *texts) == [
        (40, 2, "max_repeats"),
        (32, 2, None),  # the bound itself passes
        (0, 0, None),  # 14 tokens are repeated: longer than a period
        (0, 0, None),
        (0, 0, None),
    ]


def test_one_token_in_sequence_is_a_period_of_two_half_as_often():
    assert judged(Periodic(), " one" * 80)[0][:2] == (40, 2)
    assert judged(Periodic(shortest=1), " one" * 80)[0][:2] == (80, 1)
    assert judged(Periodic(max_repeats=None), " one" * 80)[0][2] is None


@pytest.mark.parametrize("wrong", [{"shortest": 0}, {"shortest": 5, "longest": 4}, {"max_repeats": 0}])
def test_what_makes_no_sense_fails_when_the_step_is_made(wrong):
    with pytest.raises(RecipeError, match=r"filter/periodic: "):
        Periodic(**wrong)
