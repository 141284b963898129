"""Short items are found in spite of wrong words, as one who reads both beside each other would find them."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text import near as kernels
from corpusmill.text.near import (
    LONGEST_ITEM,
    MAX_GARBLED_SHARE,
    MAX_LOST_SHARE,
    MAX_SEED_ITEMS,
    MIN_KNOWN_ITEMS,
    SEED,
    SHORTEST_ITEM,
    WEIGHT_SCALE,
)
from corpusmill.text.overlap import build, find_items
from text_strategies import strings

QUESTION = "which of the planets that people know has the largest number of moons"  # 13 words
OTHERS = [
    "why does the moon of a planet not fall down on the city",
    "people that know the planets of the sun are astronomers",
    "what is the number of people in the largest city",
    *(f"which of the things that a people has in the {place} is what you know" for place in "abcdefghijkl"),
]
N = 8


def found(text, *items, shortest=SHORTEST_ITEM, common=10):
    """(item, first word, end, words that are there) of every place where an item stands with wrong words."""
    items = strings(*items)
    index = build(items, N, min(shortest, N), common, 2 * N, SHORTEST_ITEM - 1)
    passages = find_items(strings(text), index, kernels.build(items, shortest, common))
    return [
        tuple(int(row[name]) for name in ("item", "first", "end", "covered")) for row in passages if not row["grams"]
    ]


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("which of the planets that poeple know has the largest number of moons", 13),  # exchanged letters
        ("which of the planet that people knew has the largst number of moons", 13),
        ("wich of the planets that people now has the largest number of moons", 13),
        ("which of the planets that people know hasthe larg est number of moons", 13),
        ("which of the planets that people know has the xqzv number of moons", 12),  # no word of any item
        ("which of the planets that people know has a largest number of moons", 12),
        ("which of the planets that you people know has the largest number of moons", 13),
        ("which of the planets the people know has the largest number of moons", 12),
        ("which of the planets that people know has the city number of moons", None),  # a telling word is another
        ("which xqa the planets xqb people know xqc the largest xqd of moons", None),  # 4 of 13
    ],
)
def test_a_question_with_wrong_words_is_found_where_what_is_left_is_telling(text, covered):
    expected = [] if covered is None else [(0, 1, 1 + len(text.split()), covered)]
    assert found(f"so {text} then", QUESTION, *OTHERS) == expected


def test_a_question_is_found_at_both_ends_of_a_text():
    wrong = QUESTION.replace("people", "poeple")
    assert found(wrong, QUESTION, *OTHERS) == [(0, 0, 13, 13)]
    assert found(wrong.removeprefix("which "), QUESTION, *OTHERS) == [(0, 0, 12, 12)]


def test_a_whole_question_is_left_to_the_ngrams_unless_it_is_too_short_for_them():
    assert found(QUESTION, QUESTION, *OTHERS) == []
    assert found("so who shod the last horse then why", "who shod the last horse then", *OTHERS) == [(0, 1, 7, 6)]


def test_a_question_of_too_many_items_is_boilerplate_and_so_is_a_row_of_numbers():
    asked = "which of these is not correct"
    longer = [f"{asked} about the {word}" for word in ("moon", "sun")]
    assert found(asked, asked, *longer, common=3) == [(0, 0, 6, 6)]
    assert found(asked, asked, *longer, common=2) == []
    assert found("0 0 0 0 0 x", "0 0 0 0 0 x", *OTHERS) == []


@pytest.mark.parametrize("words", [SHORTEST_ITEM - 1, LONGEST_ITEM + 1])
def test_only_items_of_some_length_are_held_beside_the_text(words):
    item = " ".join(f"w{i}" for i in range(words))
    assert found(item.replace("w2", "w0"), item) == []


# ------------------------------------------------------------------ the definition, read aloud


def edits(one, two):
    """Optimal string alignment."""
    if not one or not two:
        return len(one) + len(two)
    best = min(edits(one[1:], two) + 1, edits(one, two[1:]) + 1, edits(one[1:], two[1:]) + (one[0] != two[0]))
    if len(one) > 1 and len(two) > 1 and one[0] == two[1] and one[1] == two[0]:
        best = min(best, edits(one[2:], two[2:]) + 1)
    return best


def misspelt(one, two):
    most = 1 if len(one) < 8 else 2
    return len(one) > 1 and abs(len(one) - len(two)) <= most and edits(one, two) <= most


def outwards(item, weights, a, text, d, step, known):
    """wrong, gone, lost, garbled, and where it ends in the text."""
    wrong = gone = lost = garbled = 0

    def word(words, i):
        return words[i] if 0 <= i < len(words) else None

    def joined(words, i):
        pair = sorted([i, i + step])
        return "".join(words[k] for k in pair) if pair[0] >= 0 and pair[1] < len(words) else None

    while 0 <= a < len(item):
        if word(text, d) is None:
            wrong, gone, lost, a = wrong + 1, gone + 1, lost + weights[a], a + step
            continue
        if item[a] == text[d]:
            a, d = a + step, d + step
            continue
        wrong += 1
        alike = word(item, a + step) is not None and word(item, a + step) == word(text, d + step)
        if misspelt(item[a], text[d]):
            a, d = a + step, d + step
        elif item[a] == joined(text, d):
            a, d = a + step, d + 2 * step
        elif joined(item, a) == text[d]:
            wrong, a, d = wrong + 1, a + 2 * step, d + step
        elif not alike and word(text, d + step) == item[a]:
            lost, d = lost + weights[a], d + step
        elif not alike and word(item, a + step) == text[d]:
            gone, lost, a = gone + 1, lost + weights[a], a + step
        else:
            gone += 1
            lost, garbled = lost + weights[a] * (text[d] in known), garbled + weights[a] * (text[d] not in known)
            a, d = a + step, d + step
    return wrong, gone, lost, garbled, d


def slow_places(text, items, index):
    """Each seed of each item, beside each place of the text."""
    words = [item.split() for item in items]
    frequency = {word: sum(word in item for item in words) for item in words for word in item}
    known = {word for word, count in frequency.items() if count >= MIN_KNOWN_ITEMS}
    text, places = text.split(), set()
    for number, item in enumerate(words):
        weights = [max(round(WEIGHT_SCALE * log2(len(items) / frequency[word])), 1) for word in item]
        most = len(item) // SEED - 1
        seeds = [int(at) for of, at in zip(index.item, index.at) if of == number]
        for at in seeds:
            for i in range(len(text) - SEED + 1):
                if text[i : i + SEED] != item[at : at + SEED]:
                    continue
                near = [item[a] in text[max(i + a - at - 1, 0) : max(i + a - at + 2, 0)] for a in range(len(item))]
                right = outwards(item, weights, at + SEED, text, i + SEED, 1, known)
                left = outwards(item, weights, at - 1, text, i - 1, -1, known)
                wrong, gone, lost, garbled, _ = (one + two for one, two in zip(right, left))
                if near.count(False) > most or wrong > most or (wrong == 0 and len(item) >= N):
                    continue
                if lost <= MAX_LOST_SHARE * sum(weights) and lost + garbled <= MAX_GARBLED_SHARE * sum(weights):
                    places.add((number, left[-1] + 1, right[-1], len(item) - gone))
    return sorted(places)


words = st.sampled_from(["a", "of", "the", "tiger", "tigre", "lions", "lion", "river", "in", "nile", "zzz"])
texts = st.lists(words, max_size=30).map(" ".join)


@st.composite
def edited(draw):
    """Items, and a text that has one of them with some words changed."""
    items = draw(st.lists(texts, min_size=1, max_size=5))
    text = draw(st.sampled_from(items)).split()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 1))] = draw(st.lists(words, max_size=1))
    return items, " ".join([draw(texts), *text, draw(texts)])


@settings(max_examples=300)
@given(edited())
def test_finds_what_reading_finds(drawn):
    items, text = drawn
    index = kernels.build(strings(*items), SHORTEST_ITEM, 10)
    assert sorted(set(found(text, *items))) == slow_places(text, items, index)


@settings(max_examples=100)
@given(st.lists(texts, min_size=1, max_size=5))
def test_an_item_has_as_many_seeds_as_it_has_room_for(items):
    index = kernels.build(strings(*items), SHORTEST_ITEM, 10)
    for number, item in enumerate(items):
        size = len(item.split())
        at = np.sort(index.at[index.item == number])
        searched = index.begin[number + 1] > index.begin[number]
        assert searched or not len(at)
        if searched and sum(len(item.split()) for item in items) <= MAX_SEED_ITEMS:
            assert (np.diff(at) >= SEED).all()
            assert len(at) == size // SEED


def test_an_item_that_loses_a_seed_to_many_others_has_all_its_other_runs():
    questions = [f"what is a w{number} x{number} y{number}" for number in range(MAX_SEED_ITEMS + 1)]
    index = kernels.build(strings(*questions), SHORTEST_ITEM, 10)
    for number in range(len(questions)):
        assert sorted(index.at[index.item == number].tolist()) == [1, 2, 3]  # all but "what is a"
    assert len(found("so what is a w7 desu y7 then", *questions)) == 1


def test_seeds_are_the_runs_of_the_rarest_words():
    frequent = ["a b c", "a b d", "a c d", "b c d"]
    index = kernels.build(strings("x a b y z u a c", *frequent * 4), SHORTEST_ITEM, 10)
    assert sorted(index.at.tolist()) == [0, 3]
