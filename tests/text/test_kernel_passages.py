from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_tokens import slow_tokens

from corpusmill.text.passages import cut_tokens, super_kmers, window_hashes
from text_strategies import strings
from text_strategies import texts as odd_texts

few = st.lists(st.sampled_from("ab"), max_size=60).map(" ".join)
some = st.lists(st.sampled_from(["a", "b", "c", "to", ".", "東", "x" * 9, "y" * 20]), max_size=80).map(" ".join)
documents = st.lists(st.one_of(few, some, odd_texts), min_size=1, max_size=4)
shapes = st.integers(1, 9).flatmap(lambda window: st.tuples(st.just(window), st.integers(1, window)))


def tokens(text: str) -> list[bytes]:
    data = text.encode()
    return [data[start:end] for start, end in slow_tokens(text)]


def windows(text: str, n: int) -> list[tuple[bytes, ...]]:
    all_tokens = tokens(text)
    return [tuple(all_tokens[i : i + n]) for i in range(len(all_tokens) - n + 1)]


PRIME = 2**61 - 1
BASES = 0x9E3779B97F4A7C15 % PRIME, 0xC2B2AE3D27D4EB4F % PRIME
ALL = 2**64 - 1


def mixed(a: int, b: int) -> int:
    return (a * b & ALL) ^ (a * b >> 64)


def run_hash(run: list[bytes], base: int) -> int:
    """The hash of tokens in a row, none of them longer than 8 bytes."""
    value = 0
    for token in run:
        word = int.from_bytes(token, "little") ^ 0xE7037ED1A0B428DB
        value = (value * base + mixed(word, len(token) ^ 0xA0761D6478BD642F)) % PRIME
    return value


def slow_super_kmers(texts: list[str], window: int, gram: int) -> list[tuple[int, ...]]:
    """(document, key, whole, first window, windows) of each super-k-mer, one by one."""
    bundles: list[tuple[int, ...]] = []
    for d, text in enumerate(texts):
        there = tokens(text)
        seeds = [run_hash(there[i : i + gram], BASES[0]) for i in range(len(there) - gram + 1)]
        starts = range(len(there) - window + 1)
        least = [min(range(w, w + window - gram + 1), key=lambda i: (seeds[i], -i)) for w in starts]
        for seed, group in groupby(starts, least.__getitem__):
            run = list(group)
            whole = run_hash(there[run[0] : run[-1] + window], BASES[1])
            bundles.append((d, mixed(seeds[seed] ^ 0xA0761D6478BD642F, gram), whole, run[0], len(run)))
    return bundles


@given(st.lists(st.one_of(few, some), min_size=1, max_size=4), shapes)
@settings(max_examples=200)
def test_super_kmers_agree_with_the_definition(batch, shape):
    batch = [text.replace("xxxxxxxxx", "x").replace("y" * 20, "y") for text in batch]
    window, gram = shape
    bundles = super_kmers(strings(*batch), window, gram)
    each = [
        (d, key, whole, start + again * many, many)
        for d, key, whole, start, many, times in zip(*(column.tolist() for column in bundles))
        for again in range(times)
    ]
    assert each == slow_super_kmers(batch, window, gram)


@given(documents, shapes)
@settings(max_examples=200)
def test_super_kmers_hold_every_window_once(batch, shape):
    window, gram = shape
    bundles = super_kmers(strings(*batch), window, gram)
    covered = [
        (int(d), int(start) + i)
        for d, start, many, times in zip(bundles.document, bundles.start, bundles.windows, bundles.times)
        for i in range(int(many) * int(times))
    ]
    assert covered == [(d, i) for d, text in enumerate(batch) for i in range(len(windows(text, window)))]


@given(documents, shapes)
@settings(max_examples=200)
def test_equal_windows_are_in_super_kmers_of_one_key(batch, shape):
    window, gram = shape
    bundles = super_kmers(strings(*batch), window, gram)
    keys: dict[tuple[bytes, ...], set[int]] = {}
    for d, key, start, many, times in zip(bundles.document, bundles.key, bundles.start, bundles.windows, bundles.times):
        there = windows(batch[d], window)
        for i in range(int(many) * int(times)):
            keys.setdefault(there[int(start) + i], set()).add(int(key))
    assert all(len(of_one) == 1 for of_one in keys.values())


@given(documents, shapes)
@settings(max_examples=200)
def test_super_kmers_are_equal_as_a_whole_if_and_only_if_their_tokens_are(batch, shape):
    window, gram = shape
    bundles = super_kmers(strings(*batch), window, gram)
    contents: dict[tuple[int, int], set[tuple[bytes, ...]]] = {}
    for d, key, whole, start, many, times in zip(
        bundles.document, bundles.key, bundles.whole, bundles.start, bundles.windows, bundles.times
    ):
        for again in range(int(times)):
            first = int(start) + again * int(many)
            content = tuple(tokens(batch[d])[first : first + int(many) + window - 1])
            contents.setdefault((int(key), int(whole)), set()).add(content)
    assert all(len(of_one) == 1 for of_one in contents.values())
    assert len(set().union(*contents.values())) == len(contents)


def test_a_super_kmer_repeated_back_to_back_is_one_record():
    bundles = super_kmers(strings("- " * 100_000), 50, 25)
    assert bundles.times.tolist() == [65535, 100_000 - 49 - 65535]
    assert set(bundles.windows.tolist()) == {1}


def test_there_is_about_one_super_kmer_per_half_the_grams_of_a_window():
    random = np.random.default_rng(0)
    text = " ".join(map(str, random.integers(0, 1 << 40, 30_000).tolist()))
    assert 30_000 / len(super_kmers(strings(text), 50, 25).key) == pytest.approx(27 / 2, rel=0.05)


def test_text_of_short_tokens_has_more_super_kmers_than_there_is_room_for_at_first():
    random = np.random.default_rng(0)
    text = "".join(random.choice(list("!#$%&*+,-./:;<=>?@"), 5_000))
    whole, half = super_kmers(strings(text), 2, 2), super_kmers(strings(text, text[:100]), 2, 2)
    assert int((whole.windows.astype(int) * whole.times).sum()) == 4_999
    assert half.key[: len(whole.key)].tolist() == whole.key.tolist()


@given(documents, st.integers(1, 8))
@settings(max_examples=150)
def test_windows_have_the_same_hashes_if_and_only_if_their_tokens_are_the_same(batch, window):
    by_document = [(d, mine) for d, text in enumerate(batch) if (mine := windows(text, window))]
    columns = np.array([[d, 0, len(mine)] for d, mine in by_document], np.int64).reshape(-1, 3).T.copy()
    document, start, count = columns
    both = window_hashes(strings(*batch), document, start, count, window)
    hashes = list(zip(*(side.tolist() for side in both)))
    contents = [content for _, mine in by_document for content in mine]
    assert len(hashes) == len(contents)
    assert len(set(hashes)) == len(set(contents)) == len(set(zip(hashes, contents)))


def test_some_windows_hash_as_all_of_them_do():
    text = strings("zero", "a b c d e f g")
    key, whole = window_hashes(text, np.array([1]), np.array([0]), np.array([5]), 3)
    some = window_hashes(text, np.array([1, 1]), np.array([1, 4]), np.array([2, 1]), 3)
    assert [side.tolist() for side in some] == [key[[1, 2, 4]].tolist(), whole[[1, 2, 4]].tolist()]
    with pytest.raises(ValueError, match="within its document"):
        window_hashes(text, np.array([1]), np.array([1]), np.array([5]), 3)
    with pytest.raises(ValueError, match="in order within"):
        window_hashes(text, np.array([2]), np.array([0]), np.array([1]), 3)


def slow_cut(text: str, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The bytes to cut, one run of cut tokens after the other."""
    spans, size, data = slow_tokens(text), len(text.encode()), text.encode()
    goes = [any(start <= i < stop for start, stop in ranges) for i in range(len(spans))]
    cuts = []
    for cut, group in groupby(range(len(spans)), goes.__getitem__):
        if not cut:
            continue
        run = list(group)
        start, end = spans[run[0]][0], spans[run[-1]][1]
        before = spans[run[0] - 1][1] if run[0] else 0
        after = spans[run[-1] + 1][0] if run[-1] + 1 < len(spans) else size
        left, right = data[before:start], data[end:after]
        if run[-1] + 1 == len(spans):
            cuts.append((before, size))
        elif run[0] == 0:
            cuts.append((0, after))
        elif right.count(b"\n") > left.count(b"\n") or (right.count(b"\n") == left.count(b"\n") and not left):
            cuts.append((before, end))
        else:
            cuts.append((start, after))
    return cuts


@given(st.data(), documents)
@settings(max_examples=200)
def test_cuts_agree_with_the_definition(data, batch):
    counts = [len(slow_tokens(text)) for text in batch]
    chosen = []
    for d, count in enumerate(counts):
        if count:
            bounds = st.tuples(st.integers(0, count - 1), st.integers(1, 6))
            ranges = data.draw(st.lists(bounds, max_size=5))
            chosen += [(d, start, min(start + size, count)) for start, size in sorted(ranges)]
    columns = np.array(chosen, np.int64).reshape(-1, 3).T.copy()
    cut = cut_tokens(strings(*batch), *columns)
    wanted = {d: [(a, b) for e, a, b in chosen if e == d] for d in range(len(batch))}
    assert cut.spans.tolist() == [[d, a, b] for d in wanted for a, b in slow_cut(batch[d], wanted[d])]
    assert cut.tokens.tolist() == counts
    assert cut.cut.tolist() == [len({i for a, b in wanted[d] for i in range(a, b)}) for d in wanted]


@pytest.mark.parametrize(
    ("text", "start", "stop", "left"),
    [
        ("one two three four", 1, 3, "one four"),
        ("one.\n\ntwo three.\n\nfour", 2, 5, "one.\n\nfour"),
        ("one. two three.\n\nfour", 2, 5, "one.\n\nfour"),  # the paragraph ends all the same
        ("one (two) three", 1, 4, "one three"),
        ("one! (two) three", 2, 5, "one! three"),
        ("one. Two", 1, 2, "one Two"),  # nothing before: the white space after is kept
        ("  one two ", 0, 1, "two "),
        ("one two \n", 1, 2, "one"),
        ("one two", 0, 2, ""),
        ("東京は", 1, 2, "東は"),
    ],
)
def test_of_the_white_space_around_a_cut_the_stronger_break_is_kept(text, start, stop, left):
    _, first, end = cut_tokens(strings(text), np.array([0]), np.array([start]), np.array([stop])).spans[0]
    data = text.encode()
    assert (data[:first] + data[end:]).decode() == left


@pytest.mark.parametrize(
    "ranges", [[(0, 2, 1)], [(0, 1, 2), (0, 0, 1)], [(1, 0, 1), (0, 0, 1)], [(0, 9, 10)], [(0, -1, 1)], [(2, 0, 1)]]
)
def test_ranges_that_make_no_sense_are_refused(ranges):
    with pytest.raises(ValueError, match=r"range|documents"):
        cut_tokens(strings("a b c", "d"), *np.array(ranges, np.int64).T.copy())


def test_a_window_longer_than_can_be_noted_is_refused():
    with pytest.raises(ValueError, match="10000"):
        super_kmers(strings("a"), 10_001, 5)
