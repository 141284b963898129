"""How many tokens a model wants, against the tables of the papers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.tokens.budget import BESIROGLU, HOFFMANN, PUBLISHED_RUNS, Law, ModelPlan, amount, with_ratio


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("7B", 7e9),
        ("1.5T", 1.5e12),
        ("400k", 4e5),
        ("250 M", 2.5e8),
        ("2g", 2e9),
        ("1e23", 1e23),
        ("1,000", 1000),
        (20_000, 20_000),
        (1e9, 1e9),
        ("1_000", 1000),
    ],
)
def test_an_amount_is_read_as_people_write_it(written, value):
    assert amount(written) == pytest.approx(value)


@pytest.mark.parametrize("wrong", ["", "B", "7X", "-7B", "0", 0, "7 B B", "1e999", "nan", "1.2.3"])
def test_an_invalid_amount_is_refused(wrong):
    with pytest.raises(ValueError, match="is not an amount above 0"):
        amount(wrong)


# Hoffmann et al. 2022, table 3: parameters, FLOP, tokens.
@pytest.mark.parametrize(
    ("params", "flops", "tokens"),
    [
        (400e6, 1.92e19, 8.0e9),
        (1e9, 1.21e20, 20.2e9),
        (10e9, 1.23e22, 205.1e9),
        (67e9, 5.76e23, 1.5e12),
        (280e9, 9.90e24, 5.9e12),
    ],
)
def test_20_tokens_a_parameter_are_what_table_3_says(params, flops, tokens):
    model = with_ratio("params", params, 20)
    assert model.tokens == pytest.approx(tokens, rel=0.12)
    assert model.flops == pytest.approx(flops, rel=0.17)


@given(st.floats(1e6, 1e13), st.floats(0.5, 5000))
def test_whatever_is_given_the_model_is_the_same(params, ratio):
    model = with_ratio("params", params, ratio)
    assert model.flops == pytest.approx(6 * params * params * ratio)
    assert with_ratio("tokens", model.tokens, ratio) == pytest.approx(model)
    assert with_ratio("flops", model.flops, ratio) == pytest.approx(model)


def loss(law: Law, model: ModelPlan) -> float:
    return law.a / model.params**law.alpha + law.b / model.tokens**law.beta


@pytest.mark.parametrize("law", [HOFFMANN, BESIROGLU])
@given(st.floats(1e18, 1e27))
def test_no_model_of_the_same_operations_has_a_lower_loss(law, flops):
    best = law.optimal("flops", flops)
    assert best.flops == pytest.approx(flops)
    for factor in (0.9, 0.99, 1.01, 1.1):
        other = ModelPlan(best.params * factor, best.tokens / factor)
        assert loss(law, other) > loss(law, best)
    assert law.optimal("params", best.params) == pytest.approx(best)
    assert law.optimal("tokens", best.tokens) == pytest.approx(best)


def test_the_exponents_are_those_that_the_papers_state():
    def exponent(law):
        return math.log(law.optimal("flops", 1e24).params / law.optimal("flops", 1e22).params) / math.log(100)

    assert exponent(HOFFMANN) == pytest.approx(0.46, abs=0.01)  # table 2, approach 3; rounded parameters give 0.452
    assert exponent(BESIROGLU) == pytest.approx(0.51, abs=0.01)


def test_chinchilla_is_what_20_tokens_a_parameter_are_named_for():
    assert PUBLISHED_RUNS["Chinchilla 70B"].ratio == 20
    assert PUBLISHED_RUNS["Llama 3 8B"].ratio > 90 * PUBLISHED_RUNS["Chinchilla 70B"].ratio
