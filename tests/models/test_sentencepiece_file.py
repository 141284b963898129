"""The fields of SentencePiece models, written by hand."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError
from corpusmill.models.sentencepiece_file import CONTROL, NORMAL, UNUSED, USER_DEFINED, load, pieces, unused


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + b"\0\0\0\0"
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(name, kind=None):
    return field(1, field(1, name.encode()) + field(2, 0.5) + (field(3, kind) if kind is not None else b""))


names = st.lists(
    st.tuples(st.text(min_size=1, max_size=200), st.sampled_from([None, NORMAL, CONTROL, USER_DEFINED, 2, 6])),
    max_size=6,
)


@given(names, st.binary(max_size=9))
@settings(max_examples=60)
def test_pieces_are_read_among_other_fields(parts, other):
    model = field(2, other) + b"".join(piece(*part) + field(300, 7) for part in parts) + varint(9 << 3 | 1) + bytes(8)
    assert pieces(model) == [(name, NORMAL if kind is None else kind) for name, kind in parts]


@given(names, st.data())
@settings(max_examples=60)
def test_named_pieces_become_unused_and_nothing_else_changes(parts, data):
    model = b"".join(piece(*part) for part in parts)
    chosen = data.draw(st.sets(st.sampled_from([name for name, _ in parts]))) if parts else set()
    changed = unused(model, chosen)
    expected = [(name, UNUSED if name in chosen and kind is not None else kind or NORMAL) for name, kind in parts]
    assert pieces(changed) == expected
    assert len(changed) == len(model)


def test_what_is_no_model_is_refused():
    pytest.importorskip("sentencepiece")
    for data in (b"no model", b"\xff" * 9):
        with pytest.raises(AssetError, match=r"x.model: not a SentencePiece model, or a damaged one"):
            load(data, Path("x.model"))
