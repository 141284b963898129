"""Which blocks of a page are kept: thresholds, expected F1, files that are damaged."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.blocks import (
    BEST_F1,
    BLOCKS_MODEL,
    FORMAT,
    PAGE_TYPES,
    PARTS,
    THRESHOLDS,
    UNSURE,
    BlocksModel,
    between,
    chosen,
    expected_f1,
    possible,
)
from corpusmill.models.model_file import read_model, write_model
from corpusmill.text.blocks.columns import columns
from corpusmill.text.blocks.compose import compose
from corpusmill.text.blocks.page import WORDS
from corpusmill.text.blocks.trees import Trees, probabilities

PAGE = (
    b"<html><body><nav><a href=/>Home</a> <a href=/x>More</a></nav><article><h1>The mill</h1>"
    + b"".join(
        b"<p>The mill by the river was built of stone, and it has ground the corn of the village for %d years.</p>"
        % year
        for year in range(100, 106)
    )
    + b"<div class=comments><p>A reader says that he was there once, and that it was nice.</p></div></article><footer>Imprint</footer>"
)


def model():
    return assets.load(BLOCKS_MODEL, BlocksModel.load)


def kept(raw, comments="drop", favour="balance"):
    page = model().scan(raw)
    judged = model().judge(raw, page, comments)
    return chosen(judged.likely, page.blocks[:, WORDS], favour, judged.lowered)


likely_words = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]), st.integers(1, 9)), max_size=7)


@given(likely_words)
@settings(max_examples=100)
def test_expected_f1_is_the_best_of_all_choices(blocks):
    likely = np.array([probability for probability, _ in blocks], np.float32)
    words = np.array([size for _, size in blocks], np.int32)
    right = float((likely.astype(np.float64) * words).sum())
    best = 0.0
    for size in range(1, len(blocks) + 1):
        for choice in map(list, combinations(range(len(blocks)), size)):
            hits = float((likely[choice].astype(np.float64) * words[choice]).sum())
            best = max(best, 2 * hits / (float(words[choice].sum()) + right))
    assert expected_f1(likely, words) == pytest.approx(best if right else 0.0)


@given(likely_words, st.sampled_from(sorted(THRESHOLDS)), st.sampled_from([None, UNSURE, BEST_F1]))
@settings(max_examples=100)
def test_blocks_above_the_threshold_or_else_the_likeliest_are_kept(blocks, favour, lowered):
    likely = np.array([probability for probability, _ in blocks], np.float32)
    words = np.array([size for _, size in blocks], np.int32)
    threshold = THRESHOLDS[favour]
    if lowered:
        threshold *= min(1.0, max(lowered[1], expected_f1(likely, words) / lowered[0]))
    above = [probability > np.float32(threshold) for probability in likely]
    if blocks and not any(above):
        above = [probability == likely.max() for probability in likely]
    assert chosen(likely, words, favour, lowered).tolist() == above


def test_text_is_kept_and_the_frame_is_not():
    page = model().scan(PAGE)
    text = compose(page, kept(PAGE))
    assert "stone, and it has ground" in text and "Imprint" not in text and "Home" not in text
    assert kept(b"").tolist() == []


def test_comments_are_kept_where_they_are_to_be():
    page = model().scan(PAGE)
    assert "A reader says" in compose(page, kept(PAGE, "keep"))
    likely = model().judge(PAGE, page).likely
    assert possible(page, likely, "keep").sum() >= possible(page, likely, "drop").sum()


def test_precision_keeps_no_more_than_recall():
    precise, balanced, recalled = (kept(PAGE, "drop", favour) for favour in ("precision", "balance", "recall"))
    assert (precise <= balanced).all() and (balanced <= recalled).all()


def of_age(log_odds, page_type="article"):
    """The model, for which every page is of that type, and with these log odds an older one."""
    leaves = [log_odds, *(1.0 if name == page_type else -1.0 for name in PAGE_TYPES)]
    none = np.zeros(0, np.int16)
    roots = ~np.arange(len(leaves), dtype=np.int16)
    asked = Trees(none, np.zeros(0, np.float32), none, none, np.array(leaves, np.float32), roots)
    return BlocksModel(model().card, model().hints, model().words, {**model().stages, "page": asked})


def test_a_page_of_which_it_is_unsure_is_judged_by_both_kinds_of_trees():
    page = model().scan(PAGE)
    modern, both, older = (of_age(log_odds).judge(PAGE, page) for log_odds in (-2.0, 0.0, 2.0))
    assert (modern.likely == probabilities(model().stages["modern"], columns(page)[0])).all()
    assert (both.likely == between(modern.likely, older.likely)).all()
    assert (modern.older, both.older, older.older) == (False, False, True)
    assert (of_age(2.0, "documentation").judge(PAGE, page).likely == modern.likely).all()


probability = st.floats(0, 1, width=32)


@given(probability, probability)
def test_what_is_between_two_probabilities_is(one, other):
    made = float(between(np.array([one], np.float32), np.array([other], np.float32))[0])
    assert min(one, other) - 1e-6 <= made <= max(one, other) + 1e-6
    if 0.01 < one < 0.99 and 0.01 < other < 0.99:
        odds = [np.log(value / (1 - value)) for value in (one, other, made)]
        assert odds[2] == pytest.approx((odds[0] + odds[1]) / 2, abs=1e-4)


def test_a_model_is_saved_as_it_was_loaded(tmp_path):
    own = model()
    own.save(tmp_path / "copy")
    copy = BlocksModel.load(tmp_path / "copy")
    page = own.scan(PAGE)
    assert (own.judge(PAGE, page).likely == copy.judge(PAGE, copy.scan(PAGE)).likely).all()
    assert dict(copy.card) == dict(own.card)


DAMAGE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a child before its parent": ("left", np.zeros_like),
    "a child beyond the nodes": ("right", lambda array: array + len(array)),
    "a leaf beyond the leaves": ("left", lambda array: np.full_like(array, -(1 << 14))),
    "a column beyond the row": ("column", lambda array: np.full_like(array, 30000)),
    "a negative column": ("column", lambda array: np.full_like(array, -1)),
    "a root beyond the nodes": ("root", lambda array: np.full_like(array, 1 << 14)),
    "fewer thresholds": ("threshold", lambda array: array[:-1]),
    "a tree of some questions only": ("root", lambda array: array[:-1]),
    "two dimensions": ("leaf", lambda array: array.reshape(-1, 1)),
}


UNEVEN = "a tree of some questions only"  # of one question there may be any number


@pytest.mark.parametrize(
    ("damage", "stage"),
    [(damage, stage) for stage in ("first", "keep", "modern", "page") for damage in DAMAGE if damage != UNEVEN]
    + [(UNEVEN, "page")],
)
def test_trees_that_lead_out_of_bounds_are_refused(tmp_path, damage, stage):
    model().save(tmp_path / "model")
    names = [f"{stage}_{part}" for part in ("column", "threshold", "left", "right", "leaf", "root")]
    card, arrays = read_model(tmp_path / "model", "blocks", FORMAT, PARTS, "")
    part, change = DAMAGE[damage]
    assert f"{stage}_{part}" in names
    write_model(
        tmp_path / "bad", FORMAT, card, {**arrays, f"{stage}_{part}": change(np.array(arrays[f"{stage}_{part}"]))}
    )
    with pytest.raises(AssetError, match=f"bad: the trees of the stage {stage} are damaged"):
        BlocksModel.load(tmp_path / "bad")


THREAD = (
    b"<!doctype html><html lang=en><head><meta name=viewport content='width=device-width'><title>Which stone?</title>"
    b"<script type='application/ld+json'>{'@type': 'DiscussionForumPosting'}</script></head><body><header><nav><ul><li><a href=/>Boards</a><li><a href=/new>New"
    b"</a></ul></nav></header><main><h1>Which stone?</h1>"
    + b"".join(
        b"<article class='post topic-post'><div class=post-author><a href=/u/%d>miller%d</a><time>2025-03-%02d</time></div>"
        b"<div class='post-content message-body'><p>I tried stone number %d last year, and it held for %d weeks before it"
        b" had to be dressed. What did you take instead?</p></div><button>Like</button><button>Quote</button></article>"
        % (number, number, number, number, number)
        for number in range(10, 22)
    )
    + b"</main><footer><a href=/tos>Terms</a></footer></body></html>"
)


def test_posts_of_a_thread_are_its_text():
    page = model().scan(THREAD)
    judged = model().judge(THREAD, page)
    assert judged.page_type == "forum" and not judged.older
    text = compose(page, chosen(judged.likely, page.blocks[:, WORDS], "balance", judged.lowered))
    assert all(f"stone number {number} last year" in text for number in range(10, 22)) and "Terms" not in text


def test_a_page_has_one_of_seven_types():
    assert set(PAGE_TYPES) == {"article", "collection", "documentation", "forum", "listing", "product", "service"}
    assert model().judge(PAGE, model().scan(PAGE)).page_type in PAGE_TYPES
    assert model().judge(b"", model().scan(b"")).page_type == ""
