import doctest

import pytest

from corpusmill import steps
from corpusmill.errors import RecipeError
from corpusmill.steps import describe as module
from corpusmill.steps.describe import describe


def test_a_step_is_described_from_its_code():
    info = describe("filter/url")
    assert info.kinds == ("Annotate", "Filter")
    assert info.summary.startswith("Drop documents by their URL")
    assert info.source.startswith("Penedo et al. 2023 (RefinedWeb), arXiv:2306.01116")
    soft = {parameter.name: parameter for parameter in info.parameters}["max_soft_words"]
    assert (soft.type, soft.default, soft.note) == ("int | None", "1", "distinct ones in one URL")


def test_the_note_of_an_inherited_parameter_is_the_one_beside_it():
    notes = {parameter.name: parameter.note for parameter in describe("redact/pii").parameters}
    assert (notes["max_spans"], notes["public_only"]) == ("of all kinds together", "of IP addresses")


@pytest.mark.parametrize("name", steps.names())
def test_every_step_says_what_it_does_in_one_sentence(name):
    info = describe(name)
    assert info.kinds, f"{name} is not a step of any kind"
    assert info.summary.endswith(".") and "\n" not in info.summary
    assert not info.summary.startswith(type(info).__name__)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(module).failed == 0


def test_a_step_that_does_not_exist_is_an_error_with_the_nearest_name():
    with pytest.raises(RecipeError, match='did you mean "filter/gopher_quality"'):
        describe("filter/gofer_quality")
