"""Items are found by their n-grams, phrases and templates, as one who reads word by word would find them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.overlap import PASSAGE, build, find_items
from text_strategies import strings

words = st.sampled_from(["a", "b", "c", "d", "e", "fg"])
folded = st.lists(words, max_size=24).map(" ".join)


def telling(run):
    return 2 * len(set(run)) >= len(run)


def runs_of(item, n, shortest):
    """(place, run) of what an item is known by."""
    if len(item) >= n:
        return [(at, item[at : at + n]) for at in range(len(item) - n + 1)]
    return [(0, item)] if len(item) >= shortest else []


def slow_passages(documents, items, n, shortest, common, template):
    """The definition: each run of each item held beside each place of each document."""
    items = [item.split() for item in items]
    known = {i: [run for run in runs_of(item, n, shortest) if telling(run[1])] for i, item in enumerate(items)}
    frequent = {
        tuple(run)
        for runs in known.values()
        for _, run in runs
        if sum(any(run == other for _, other in others) for others in known.values()) > common
    }
    records = []
    for d, document in enumerate(text.split() for text in documents):
        every = {
            i: sorted(
                (word, at, len(run), False)
                for at, run in known[i]
                if tuple(run) not in frequent
                for word in range(len(document) - len(run) + 1)
                if document[word : word + len(run)] == run
            )
            for i in known
        }
        of_templates = slow_templates(document, items, known, frequent, every, n, template)
        for i, item in enumerate(items):
            places = sorted(every[i] + of_templates[i])
            passages: list[Any] = []
            for place in places:
                if passages and place[0] - passages[-1][-1][0] <= len(item):
                    passages[-1].append(place)
                else:
                    passages.append([place])
            for passage in passages:
                (first, at, _, _), (last, last_at, size, _) = passage[0], passage[-1]
                covered, held = (
                    {k for _, at, size, shared in passage if shared <= kind for k in range(at, at + size)}
                    for kind in (False, True)
                )
                left, grams = len(item) - last_at - size, len({at for _, at, _, _ in passage})
                records.append((d, i, first, last + size, at, left, len(covered), len(held - covered), grams))
    return records


def slow_templates(document, items, known, frequent, every, n, template):
    """The places of the n-grams of templates by item, each template those of the nearest item alone."""
    long = {  # n-grams that many items share, of items that have enough of them in a row
        i: {
            at: run
            for at, run in known[i]
            if any(
                all(
                    tuple(dict(known[i]).get(k, ())) in frequent for k in range(begin, begin + max(template - n, 0) + 1)
                )
                for begin in range(max(at - max(template - n, 0), 0), at + 1)
            )
        }
        if len(item) >= n
        else {}
        for i, item in enumerate(items)
    }
    runs = [run for shared in long.values() for run in shared.values()]
    words = [w for w in range(len(document) - n + 1) if document[w : w + n] in runs]
    found: dict[int, list[Any]] = {i: [] for i in known}
    while words:
        passage = [words.pop(0)]
        while words and words[0] == passage[-1] + 1:
            passage.append(words.pop(0))
        low, high = passage[0], passage[-1]
        having = {i: sum(document[w : w + n] in shared.values() for w in passage) for i, shared in long.items()}
        least = max(template - n + 1, 1)
        shares = {
            i: Fraction(
                count + sum(low - len(items[i]) <= word <= high + len(items[i]) for word, *_ in every[i]),
                len(items[i]) - n + 1,
            )
            for i, count in having.items()
            if count >= least
        }
        if shares:
            nearest = max(shares, key=lambda i: (shares[i], -i))
            found[nearest] += [
                (w, at, n, True) for w in passage for at, run in long[nearest].items() if document[w : w + n] == run
            ]
    return found


@settings(max_examples=200)
@given(
    documents=st.lists(folded, max_size=4),
    items=st.lists(folded, min_size=1, max_size=5),
    n=st.integers(1, 6),
    shorter=st.integers(0, 4),
    common=st.integers(1, 3),
    template=st.integers(1, 9),
    before=folded,
)
@example(["a b c d e x a b c"], ["a b c d e", "a b c"], 4, 1, 1, 9, "")  # an n-gram and a phrase
@example(["a b c a b c a b c"], ["a b c a b c"], 3, 0, 1, 9, "")  # n-grams that repeat
@example(["", "a a a a"], ["", "a a a a"], 2, 0, 1, 9, "")  # nothing, and a run that says nothing
@example(["a b c d x b c d e"], ["b c d e fg", "b a c e"], 2, 0, 1, 4, "a b c d")  # a template, and one cut short
def test_finds_what_reading_finds(documents, items, n, shorter, common, template, before):
    shortest = max(n - shorter, 1)
    items = [f"{before} {item}".strip() for item in items]
    documents = [*documents, *(f"{document} {before} {document}".strip() for document in documents)]
    passages = find_items(strings(*documents), build(strings(*items), n, shortest, common, template))
    assert passages.tolist() == slow_passages(documents, items, n, shortest, common, template)


@given(st.lists(folded, max_size=5), st.lists(folded, max_size=5))
@settings(max_examples=40)
def test_a_document_is_searched_alone(first, second):
    index = build(strings("a b c d", "b c", "c d e fg a b", "d", "a b c e"), 3, 1, 1, 3)
    parts = [find_items(strings(*first), index), find_items(strings(*second), index)]
    parts[1]["document"] += len(first)
    np.testing.assert_array_equal(find_items(strings(*first, *second), index), np.concatenate(parts))


def test_more_than_there_is_room_for_is_found_too():
    many = " ".join(f"w{i}" for i in range(20_000))
    passages = find_items(strings("x", many, many), build(strings(many), 8, 8, 1, 13))
    assert passages[["document", "covered", "grams"]].tolist() == [(1, 20_000, 19_993), (2, 20_000, 19_993)]


def test_a_template_is_of_the_one_item_that_has_most_of_its_ngrams_there():
    """Of ten words in four items, the document has nine and then the words of one of them."""
    template = "if some of the mares are brown all mares are"
    items = [f"{template} {rest}" for rest in ("old and grey and tired now", "red", "tall", "slow or lame")]
    found = find_items(strings(f"so {template} slow or x", template), build(strings(*items), 4, 4, 3, 8))
    assert found[["document", "item", "first", "end", "covered", "template", "grams"]].tolist() == [
        (0, 3, 1, 13, 5, 7, 9),  # "mares are slow or" and the one before are its own
        (
            1,
            1,
            0,
            10,
            0,
            10,
            7,
        ),  # nearest of those that have nothing else there are the shortest, and of them the first
    ]
    cut = template.rsplit(" ", 3)[0]
    assert len(find_items(strings(cut), build(strings(*items), 4, 4, 3, 8))) == 0  # 7 words


def test_a_template_that_stands_often_is_found_everywhere():
    template = " ".join(f"t{i}" for i in range(20))
    items = strings(*(f"{template} a{i}" for i in range(50)))
    text = strings(*[" x ".join([template] * 700)] * 2)
    passages = find_items(text, build(items, 8, 8, 10, 13))
    assert [len(passages), passages["item"].max(), passages["template"].min()] == [2, 0, 20]


def test_no_items_are_found_nowhere():
    assert len(find_items(strings("a b c"), build(strings(), 2, 1, 1, 4))) == 0
    assert find_items(strings(), build(strings("a b"), 2, 1, 1, 4)).dtype == PASSAGE


@pytest.mark.parametrize(("n", "shortest"), [(0, 0), (64, 1), (3, 4)])
def test_sizes_that_make_no_sense_are_refused(n, shortest):
    with pytest.raises(ValueError, match="need 1 <= shortest <= n <= 63"):
        build(strings("a"), n, shortest, 1, 13)


@given(st.lists(folded, min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 2))
@settings(max_examples=60)
def test_telling_words_are_those_in_ngrams_that_are_not_boilerplate(items, n, common):
    index = build(strings(*items), n, 1, common, n + 1)
    shared = np.repeat(index.shared, np.diff(index.first))
    for number, item in enumerate(items):
        places = [at for of, at, boilerplate in zip(index.item, index.at, shared) if of == number and not boilerplate]
        assert index.telling[number] == len({k for at in places for k in range(at, min(at + n, len(item.split())))})
