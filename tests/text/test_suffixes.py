"""Every occurrence of a passage is found, and nothing else, as looking through the bytes finds them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text import suffixes
from corpusmill.text.suffixes import DEPTH, END, ENTRY_KINDS, LEAD, LETTER, NEITHER, PADDING, index, joined

TEXT = st.text(st.sampled_from("aab .,\n-é水Ω😀"), max_size=40)


def slow_entries(text):
    """Beginnings of texts, letters and digits behind what is none, characters of three or four bytes."""
    entries = []
    for at in range(1, len(text) - PADDING):
        byte, before = int(text[at]), int(text[at - 1])
        letter, after_letter = ENTRY_KINDS[byte] == LETTER, ENTRY_KINDS[before] != NEITHER
        if byte != END and (before == END or ENTRY_KINDS[byte] == LEAD or (letter and not after_letter)):
            entries.append(at)
    return entries


def slow_suffix(text, at):
    """As far as it is compared: to the end of its text, in eights of bytes from its beginning."""
    return bytes(text[at : at + DEPTH])


def slow_places(texts, wanted):
    data = bytes([END]) + bytes([END]).join(texts) + bytes([END])
    return [at for at in range(len(data)) if data.startswith(wanted, at)]


def places(found, wanted, most=None):
    """As `find` puts the functions together, from each entry of the passage, or from the first ones."""
    offsets = suffixes.entries_within(wanted)[:most]
    if not offsets:
        runs, within = suffixes.within_runs(found, wanted)
        return [[
            int(at) + int(inner)
            for run, inner in zip(runs, within)
            for at in found.sorted[found.run_first[run] : found.run_first[run + 1]]
        ]]  # fmt: skip
    return [suffixes.confirmed(found, *suffixes.matches(found, wanted[at:]), wanted, at).tolist() for at in offsets]


def indexed(texts):
    return index(joined(texts)[0])


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXT, max_size=6), st.lists(st.text(st.sampled_from("ab .,é水"), min_size=1, max_size=4), max_size=8))
def test_every_occurrence_is_found_from_every_entry_of_the_passage(texts, passages):
    encoded = [text.encode() for text in texts]
    found = indexed(encoded)
    assert sorted(found.sorted.tolist()) == slow_entries(found.text)
    parts = [text[i : i + 7] for text in texts for i in range(0, len(text), 5)]
    for passage in (*passages, *parts):
        for looked_up in places(found, passage.encode()):
            assert sorted(looked_up) == slow_places(encoded, passage.encode())


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, max_size=6), TEXT)
def test_what_a_passage_shares_with_the_texts_is_the_longest_beginning_of_an_entry(texts, passage):
    found = indexed([text.encode() for text in texts])
    wanted = passage.encode()
    lengths = [0]
    for at in found.sorted.tolist():
        suffix = slow_suffix(found.text, at)
        lengths.append(next((i for i in range(len(wanted)) if suffix[i : i + 1] != wanted[i : i + 1]), len(wanted)))
    assert suffixes.shared(found, wanted) == max(lengths)


def test_suffixes_are_in_order_as_far_as_they_are_compared():
    random = np.random.default_rng(4)
    words = [bytes(random.choice([97, 98], 3).tolist()) for _ in range(4)]
    texts = [b" ".join(words[i] for i in random.integers(0, 4, 400)) for _ in range(5)]
    found = indexed([*texts, *texts[:2]])
    cut = [bytes(found.text[at : at + DEPTH]).partition(bytes([END]))[0] for at in found.sorted.tolist()]
    ended = [text + bytes([END]) for text in cut]
    assert ended == sorted(ended)


def test_texts_of_one_word_again_and_again_are_sorted_in_time():
    texts = [b"a " * 20_000, b"a " * 20_000, b"." * 5000, b""]
    found = indexed(texts)
    assert len(found.sorted) == 40_001
    (looked_up,) = places(found, b" a" * 3, 1)
    assert sorted(looked_up) == slow_places(texts, b" a" * 3)
    long = b"a " * 2000  # longer than suffixes are sorted by
    assert sorted(places(found, long, 1)[0]) == slow_places(texts, long)


def test_runs_are_few_and_each_stands_for_its_entries():
    found = indexed([b"the mill, the wheel. The mill!"])
    runs = bytes(found.runs).rstrip(bytes([END])).split(bytes([END]))
    assert runs == [b"The ", b"mill!", b"mill, ", b"the ", b"wheel. "]
    assert np.diff(found.run_first.astype(int)).tolist() == [1, 1, 1, 2, 1]
