"""Families of measures: their columns, what they divide by, and that texts are distinguished."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings

from corpusmill.steps.measures import MEASURES
from corpusmill.text.stats import document_stats
from text_strategies import batches, strings

STATS = """
chars words content_words mean_word_length hash_ratio ellipsis_ratio symbol_ratio bullet_line_ratio ellipsis_line_ratio
alpha_word_ratio stop_words duplicate_line_ratio duplicate_paragraph_ratio duplicate_line_char_ratio
duplicate_paragraph_char_ratio top_2_gram_char_ratio top_3_gram_char_ratio top_4_gram_char_ratio
duplicate_5_gram_char_ratio duplicate_6_gram_char_ratio duplicate_7_gram_char_ratio duplicate_8_gram_char_ratio
duplicate_9_gram_char_ratio duplicate_10_gram_char_ratio line_punctuation_ratio short_line_ratio
repeated_line_char_ratio newline_ratio"""
BASIC = """
uppercase_word_ratio uppercase_char_ratio special_char_ratio digit_ratio punctuation_ratio distinct_word_ratio
repeat_ratio repeated_3_gram_ratio top_2_gram_ratio top_3_gram_ratio"""
TEXT = "characters words lines paragraphs mean_word_length"


def measure(family, *texts):
    return {name: column.to_pylist() for name, column in MEASURES[family](docs(strings(*texts))).items()}


def docs(texts):
    return pa.RecordBatch.from_arrays([texts], ["text"])


@pytest.mark.parametrize(("family", "names"), [("stats", STATS), ("basic", BASIC), ("text", TEXT)])
def test_a_family_has_these_columns_and_is_zero_without_text(family, names):
    columns = MEASURES[family](docs(strings(None, "")))
    assert list(columns) == names.split()
    for name, column in columns.items():
        assert column.type == (pa.float64() if name.endswith(("ratio", "length")) else pa.int64())
        assert column.to_pylist() == [0, 0], name


def test_ratios_of_a_small_text():
    text = "- the END...\n- the END...\n\n# of 42"
    measured = {name: values[0] for name, values in (measure("stats", text) | measure("basic", text)).items()}
    wanted = {
        "chars": 34,
        "words": 9,
        "content_words": 6,
        "mean_word_length": (3 + 6 + 3 + 6 + 2 + 2) / 6,
        "hash_ratio": 1 / 9,
        "ellipsis_ratio": 2 / 9,
        "bullet_line_ratio": 2 / 4,
        "ellipsis_line_ratio": 2 / 4,
        "alpha_word_ratio": 5 / 9,
        "stop_words": 2,
        "duplicate_line_ratio": 1 / 3,
        "duplicate_line_char_ratio": 12 / 34,
        "duplicate_paragraph_ratio": 0.0,
        "top_2_gram_char_ratio": 5 * 2 / 34,
        "top_3_gram_char_ratio": 12 * 2 / 34,
        "line_punctuation_ratio": 2 / 3,
        "short_line_ratio": 1.0,
        "repeated_line_char_ratio": 12 / 31,
        "newline_ratio": 3 / 9,
        "uppercase_word_ratio": 2 / 9,
        "uppercase_char_ratio": 6 / 34,
        "special_char_ratio": 9 / 34,
        "punctuation_ratio": 9 / 34,
        "digit_ratio": 2 / 34,
        "distinct_word_ratio": 6 / 9,
        "repeat_ratio": 3 / 9,
        "repeated_3_gram_ratio": 1 / 7,
        "top_2_gram_ratio": 2 / 8,
        "top_3_gram_ratio": 2 / 7,
    }
    assert {name: measured[name] for name in wanted} == pytest.approx(wanted)
    size = {"characters": 34, "words": 9, "lines": 4, "paragraphs": 2, "mean_word_length": 25 / 9}
    assert measure("text", text) == {name: [value] for name, value in size.items()}


@settings(max_examples=40)
@given(batches, batches)
def test_each_batch_is_measured_by_its_own_text(a, b):
    for family in MEASURES:
        apart = [measure(family, *batch) for batch in (a, b)]
        together = measure(family, *a, *b)
        assert {name: apart[0][name] + apart[1][name] for name in together} == together
        assert all(math.isfinite(value) for values in together.values() for value in values)


def test_the_same_memory_with_other_bounds_is_another_text():
    texts = strings("one two", "three", "four five six")
    assert MEASURES["stats"](docs(texts))["words"].to_pylist() == [2, 1, 3]
    assert MEASURES["basic"](docs(texts[1:]))["distinct_word_ratio"].to_pylist() == [1.0, 1.0]
    assert MEASURES["stats"](docs(texts[1:2]))["words"].to_pylist() == [1]
    assert document_stats(texts)["words"].tolist() == [2, 1, 3]
