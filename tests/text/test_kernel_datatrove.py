"""Ours and datatrove's answers are the same, given the same words (the file is made by scripts/make_datatrove_golden.py)."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import xxhash

from corpusmill.steps.measures import MEASURES
from corpusmill.text.c4 import VERDICTS, clean_lines
from corpusmill.text.fold import fold
from corpusmill.text.pii import pii_spans
from corpusmill.text.sketch import sketch_m61
from text_strategies import strings

ROWS = json.loads(gzip.decompress((Path(__file__).parent / "datatrove.json.gz").read_bytes()))
TEXTS = strings(*(row["text"] for row in ROWS))

# datatrove's rules in its order: (its reason, our measure, what drops a document).
RULES = {
    "gopher_quality": [
        ("gopher_short_doc", "content_words", lambda x: x < 50),
        ("gopher_long_doc", "content_words", lambda x: x > 100_000),
        ("gopher_below_avg_threshold", "mean_word_length", lambda x: x < 3),
        ("gopher_above_avg_threshold", "mean_word_length", lambda x: x > 10),
        ("gopher_too_many_hashes", "hash_ratio", lambda x: x > 0.1),
        ("gopher_too_many_ellipsis", "ellipsis_ratio", lambda x: x > 0.1),
        ("gopher_too_many_bullets", "bullet_line_ratio", lambda x: x > 0.9),
        ("gopher_too_many_end_ellipsis", "ellipsis_line_ratio", lambda x: x > 0.3),
        ("gopher_below_alpha_threshold", "alpha_word_ratio", lambda x: x < 0.8),
        ("gopher_enough_stop_words", "stop_words", lambda x: x < 2),
    ],
    "gopher_repetition": [
        ("dup_para_frac", "duplicate_paragraph_ratio", lambda x: x > 0.3),
        ("dup_para_char_frac", "duplicate_paragraph_char_ratio", lambda x: x > 0.2),
        ("dup_line_frac", "duplicate_line_ratio", lambda x: x > 0.3),
        ("dup_line_char_frac", "duplicate_line_char_ratio", lambda x: x > 0.2),
        *(
            (f"top_{n}_gram", f"top_{n}_gram_char_ratio", lambda x, most=most: x > most)
            for n, most in ((2, 0.2), (3, 0.18), (4, 0.16))
        ),
        *(
            (f"duplicated_{n}_n_grams", f"duplicate_{n}_gram_char_ratio", lambda x, most=most: x > most)
            for n, most in ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))
        ),
    ],
    "fineweb": [
        ("line_punct_ratio", "line_punctuation_ratio", lambda x: x < 0.12),
        ("short_line_ratio", "short_line_ratio", lambda x: x > 0.67),
        ("char_dup_ratio", "repeated_line_char_ratio", lambda x: x > 0.01),
        ("list_ratio", "newline_ratio", lambda x: x > 0.3),
    ],
}


@pytest.mark.parametrize("step", RULES)
def test_measures_decide_as_datatrove_does(step):
    measures = {name: np.array(column) for name, column in MEASURES["stats"]({"text": TEXTS}).items()}
    reasons = [None] * len(ROWS)
    for reason, measure, drops in reversed(RULES[step]):
        reasons = [reason if hit else other for hit, other in zip(drops(measures[measure]), reasons, strict=True)]
    assert reasons == [row[step] for row in ROWS]
    assert len(set(reasons)) > 2


def test_cleaned_lines_are_datatrove_s():
    result = clean_lines(TEXTS)
    cleaned = [VERDICTS[v] if v else text for v, text in zip(result.verdict, result.text.to_pylist(), strict=True)]
    assert cleaned == [row["c4"] for row in ROWS]


def test_folded_text_is_datatrove_s():
    assert fold(TEXTS).to_pylist() == [row["folded"] for row in ROWS]


def test_signatures_are_datatrove_s():
    """Of datatrove's hashes of n-grams, which are XXH64."""
    words = [text.split(" ") for text in fold(TEXTS).to_pylist()]
    grams = [[" ".join(own[i : i + 5]) for i in range(len(own) - 4)] for own in words]
    hashes = np.array([xxhash.xxh64_intdigest(gram.encode()) for own in grams for gram in own], np.uint64)
    lanes = sketch_m61(hashes, np.cumsum([0, *map(len, grams)]), 112)[:, ::16].tolist()
    assert [mine for mine, row in zip(lanes, ROWS, strict=True) if row["minhash"]] == [
        row["minhash"] for row in ROWS if row["minhash"]
    ]


def test_e_mail_addresses_are_datatrove_s():
    addresses: list[list[str]] = [[] for _ in ROWS]
    for document, _, start, end in pii_spans(TEXTS, ["email"]).tolist():
        addresses[document].append(ROWS[document]["text"].encode()[start:end].decode())
    assert addresses == [row["emails"] for row in ROWS]
