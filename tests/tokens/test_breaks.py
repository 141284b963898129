"""Where documents may be cut: between pieces, after the last token that belongs to the first, and never at an end."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.pieces import TextPieces
from corpusmill.tokens.breaks import INSIDE, breaks, of_documents, pieces_of, token_ends


def text_pieces(text, at):
    pieces = pieces_of(pa.array([text], pa.large_string()), at)
    data = text.encode()
    return [data[a:b].decode() for a, b in zip(pieces.start.tolist(), pieces.end.tolist())]


def test_blank_lines_separate_paragraphs_and_line_ends_end_sentences():
    text = "One. Two three!\nFour\n\n  Five. "
    assert text_pieces(text, "paragraph") == ["One. Two three!\nFour", "  Five. "]
    assert text_pieces(text, "sentence") == ["One.", "Two three!", "Four", "Five."]


@st.composite
def documents(draw):
    """Pieces and tokens of some documents: rising edges within the same bytes, some tokens ending in a character."""
    made = []
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.integers(0, 20))
        edges = sorted(draw(st.sets(st.integers(0, size), max_size=8)))
        spans = [(a, b) for a, b in pairwise(edges)][::2]
        last = draw(st.integers(min(1, size), size))  # what comes behind has become no token
        ends = [*sorted(draw(st.sets(st.integers(1, last - 1), max_size=12))), last] if last > 1 else [1] * last
        ends = [INSIDE if i < len(ends) - 1 and draw(st.integers(0, 4)) == 0 else e for i, e in enumerate(ends)]
        made.append((spans, ends))
    return made


def slow_breaks(made):
    """The definition, read aloud."""
    result = []
    for d, (spans, ends) in enumerate(made):
        for (_, end), (start, _) in pairwise(spans):
            between = [i for i, e in enumerate(ends[:-1]) if end <= e <= start]
            if between:
                result.append((d, between[-1] + 1))
    return result


@settings(max_examples=200, deadline=None)
@given(documents())
def test_breaks_agree_with_their_definition(made):
    spans = np.array([span for spans, _ in made for span in spans], np.int64).reshape(-1, 2)
    pieces = TextPieces(
        spans[:, 0].copy(), spans[:, 1].copy(), np.cumsum([0, *(len(spans) for spans, _ in made)], dtype=np.int64)
    )
    ends = np.array([e for _, ends in made for e in ends], np.int64)
    offsets = np.cumsum([0, *(len(ends) for _, ends in made)], dtype=np.int64)
    document, before = breaks(pieces, ends, offsets)
    assert list(zip(document.tolist(), before.tolist())) == slow_breaks(made)


def test_ends_of_tokens_are_sums_of_their_sizes_without_bos_and_eos():
    ids = np.array([9, 0, 1, 9, 9, 2, 9], np.uint16)
    ends, totals = token_ends(ids, np.array([[1, 3], [5, 6]]), np.array([3, 4, 5, 0, 0, 0, 0, 0, 0, 7]))
    assert (ends.tolist(), totals.tolist()) == ([3, 7, 5], [7, 5])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.sets(st.integers(1, 5))), max_size=8))
def test_breaks_of_some_documents_are_those_of_these_alone(made):
    def positions(chosen):
        base, places_in_stream = 0, []
        for length, _, places in chosen:
            places_in_stream += [base + place for place in sorted(places) if place < length]
            base += length
        return places_in_stream

    lengths = np.array([length for length, _, _ in made], np.int64)
    chosen = np.array([stays for _, stays, _ in made], bool)
    got = of_documents(np.array(positions(made), np.int64), lengths, chosen)
    assert got.tolist() == positions([one for one in made if one[1]])
