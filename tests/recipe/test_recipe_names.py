"""Names of things in a recipe, and their labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recipe_parts import KeepShort, Letters

from corpusmill import read, steps, write
from corpusmill.recipe import labels, name_of
from corpusmill.recipe.names import labels_of_names
from corpusmill.steps.filter.gopher_quality import GopherQuality


@pytest.mark.parametrize(
    ("registry", "name"), [(registry, name) for registry in (steps, read, write) for name in registry.names()]
)
def test_the_name_of_a_class_finds_the_class(registry, name):
    assert name_of(registry.find(name)) == name


def test_one_of_your_own_is_named_by_module_and_class():
    assert name_of(Letters()) == "recipe_parts:Letters"
    assert steps.find(name_of(Letters)) is Letters


def test_labels_number_what_is_repeated():
    chain = [GopherQuality(), KeepShort(max_words=1), GopherQuality(min_words=1), KeepShort(max_words=2)]
    assert labels(chain) == ["gopher_quality", "keep_short", "gopher_quality_2", "keep_short_2"]


@pytest.mark.parametrize(
    ("name", "label"),
    [("a:HTMLPage", "html_page"), ("a.b:Keep2Short", "keep2_short"), ("a:URL", "url"), ("a:Outer.Inner", "inner")],
)
def test_the_label_of_a_class_is_in_snake_case(name, label):
    assert labels_of_names([name]) == [label]


@given(st.lists(st.sampled_from(["a/x", "b/x", "a/x_2", "m:X", "a/x_3", "a/y"]), max_size=8))
def test_labels_are_one_each_and_all_different(names):
    labels = labels_of_names(names)
    assert len(labels) == len(names) == len(set(labels))
