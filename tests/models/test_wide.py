"""lid.wide: its kernels against the definitions, and its file."""

import unicodedata
from collections import Counter
from math import log1p

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.close_pairs import compare, make_pair
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_WIDE, WideModel, prepare
from corpusmill.models.wide_parts import cut_parts
from corpusmill.models.wide_score import Wide, score
from corpusmill.text.buffers import PAD
from corpusmill.text.scripts import RANGES
from corpusmill.text.unicode import terminal

letters = st.text(alphabet="aehinrst zäß水и", max_size=300)


def packed(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer(b"".join(texts) + bytes(PAD), np.uint8), offsets


def slow_scores(model: Wide, text: bytes) -> tuple[list[float], int, float]:
    """The definition: one state after the other, then one n-gram after the other."""
    state, found = 0, Counter[int]()
    for byte in text:
        state = int(model.moves[model.states[state, 0] + byte])
        found[int(model.states[state, 1])] += 1
    found.pop(0, None)
    times = {ngram: round(1024 * log1p(min(count, 1023))) for ngram, count in found.items()}
    sums = sum((n * model.table[ngram].astype(np.int64) for ngram, n in times.items()), np.zeros(1, np.int64))
    most = sum(n * int(model.ceiling[ngram]) for ngram, n in times.items())
    return (sums * model.step / 1024).tolist(), sum(times.values()), most * model.step / 1024


@settings(max_examples=60, deadline=None)
@given(st.lists(letters, min_size=1, max_size=3))
def test_scores_are_those_of_the_definition_however_many_places_are_read_at_once(texts):
    model = assets.load(LID_WIDE, WideModel.load)._model
    encoded = [text.encode() for text in texts]
    data, offsets = packed(encoded)
    scores = np.empty((len(texts), model.table.shape[1]), np.float32)
    weights, best = np.empty(len(texts), np.int64), np.empty(len(texts), np.float32)
    score(data, offsets, model, scores, weights, best)
    for i, text in enumerate(encoded):
        sums, weight, most = slow_scores(model, text)
        assert weights[i] == weight
        assert scores[i] == pytest.approx(sums if len(sums) > 1 else 0)
        assert best[i] == pytest.approx(most)


def slow_ngrams(text: str) -> set[bytes]:
    words = "".join(c if (c.isascii() and c.isalpha()) or c == "'" or ord(c) > 127 else " " for c in text).split(" ")
    found = set()
    for word in words:
        if word:
            padded = b" " + b"".join(c.lower().encode() if c.isascii() else c.encode() for c in word) + b" "
            found |= {padded[i : i + n] for n in range(1, 6) for i in range(len(padded) - n + 1)} | {padded}
    return found


def slow_hash(ngram: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in ngram:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(alphabet="abAB' -é", max_size=60),
    known=st.dictionaries(st.text(alphabet="ab' é", min_size=1, max_size=8), st.integers(-9, 9), max_size=12),
)
def test_a_close_pair_is_judged_by_the_distinct_ngrams_of_words(text, known):
    weights = {slow_hash(ngram.encode()): weight for ngram, weight in known.items()}
    pair = make_pair(np.array(list(weights), np.uint64), np.array(list(weights.values()), np.int8))
    total = sum(weights.get(slow_hash(ngram), 0) for ngram in slow_ngrams(text))
    data, offsets = packed([b"aaa", text.encode()])
    assert compare(data, offsets, np.array([1]), pair).tolist() == [total >= 0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="aBÉ é\u0301\u0327Жж水Σσ1", max_size=12), min_size=3, max_size=9).map(lambda x: x[:6]))
def test_windows_are_joined_composed_and_in_lower_case_if_all_are_capitals(pieces):
    windows, pieces = 3, pieces[: len(pieces) // 3 * 3]
    data, offsets = packed([piece.encode() for piece in pieces])
    out, bounds = prepare(data, offsets[:-1], offsets[1:], np.arange(0, len(pieces) + 1, windows))
    for i in range(len(bounds) - 1):
        text = " ".join(piece for piece in pieces[i * windows : (i + 1) * windows] if piece)
        wanted = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
        assert unicodedata.normalize("NFC", out[bounds[i] : bounds[i + 1]].tobytes().decode()) == wanted


SPACES = [chr(c) for c in range(0x110000) if chr(c).isspace()] + ["\u200b"]
UNSEEN = ["\u00ad", "\u2060", "\ufeff"]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_each_white_space_is_a_space(space):
    data, offsets = packed([f"aé{space}水".encode()])
    out, bounds = prepare(data, offsets[:1], offsets[1:], np.array([0, 1]))
    assert out[: bounds[1]].tobytes().decode() == "aé 水"


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from([*SPACES, *UNSEEN, *"aé“–\u200c\u2030\u2062ア\u3001ሀ\u1690\ufec0\U0001f30a\0\x7f"]),
        max_size=40,
    )
)
def test_all_white_space_becomes_spaces_and_what_is_not_seen_is_left_out(text):
    data, offsets = packed([text.encode()])
    out, bounds = prepare(data, offsets[:1], offsets[1:], np.array([0, 1]))
    wanted = "".join(" " if c in SPACES else "" if c in UNSEEN else c for c in text)
    assert out[: bounds[1]].tobytes().decode() == unicodedata.normalize("NFC", wanted)


def slow_script(c: str) -> str | None:
    for name, ranges in RANGES.items():
        for part in ranges.split():
            low, _, high = part.partition("-")
            if int(low, 16) <= ord(c) <= int(high or low, 16):
                return "han" if name in ("hiragana", "katakana", "bopomofo") else name
    return None


def slow_parts(window: str) -> list[str]:
    """The definition, read aloud: a part ends before a letter of another script; where it has 20 letters, after a line
    break, and after a mark that ends a sentence if white space follows or it is not ASCII; and after 100 characters at
    white space, or 150."""
    parts, part = [], ""
    for i, c in enumerate(window):
        scripts = {slow_script(x) for x in part} - {None}
        if slow_script(c) and scripts and slow_script(c) not in scripts:
            parts.append(part)
            part = ""
        part += c
        following = window[i + 1 : i + 2]
        long = sum(slow_script(x) is not None for x in part) >= 20
        if (
            (long and (c + ".").splitlines()[0] == "")
            or (long and c in terminal() and (c > "\x7f" or not following or following.isspace()))
            or (len(part) >= 100 and c.isspace())
            or len(part) >= 150
        ):
            parts.append(part)
            part = ""
    return [part for part in [*parts, part] if any(map(slow_script, part))]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    "a",
                    "é. ",
                    " ",
                    "1",
                    ".",
                    "? ",
                    "。",
                    "日本",
                    "アx",
                    "ж",
                    "\n",
                    "\u2028",
                    "b" * 60,
                    "к " * 40,
                    "word " * 5,
                    "слово" * 4,
                    "word " * 5,
                ]
            ),
            max_size=12,
        ).map("".join),
        min_size=2,
        max_size=6,
    )
)
def test_parts_are_where_the_definition_says(windows):
    windows = windows[: len(windows) // 2 * 2]
    data, offsets = packed([window.encode() for window in windows])
    parts = cut_parts(data, offsets[:-1], offsets[1:], 2)
    actual = [data[a:b].tobytes().decode() for a, b in zip(parts.first, parts.last, strict=True)]
    wanted = [slow_parts(window) for window in windows]
    assert actual == [part for of_window in wanted for part in of_window]
    assert parts.letters.tolist() == [sum(slow_script(c) is not None for c in part) for part in actual]
    assert np.diff(parts.bounds).tolist() == [len(wanted[i]) + len(wanted[i + 1]) for i in range(0, len(wanted), 2)]


def test_a_file_that_is_no_model_is_reported(tmp_path):
    for content in (b"CMWIDE1 {}\n", b'CMWIDE1 {"format": 1, "classes": []}\nxz', b"CMWIDE1 "):
        path = tmp_path / "own.wide"
        path.write_bytes(content)
        with pytest.raises(AssetError, match="not a language model of corpusmill"):
            WideModel.load(path)


def test_languages_that_lid_176_lacks_or_misses():
    texts = {
        "so": "Dowladda ayaa maanta sheegtay in ay dib u furi doonto iskuulada dalka kadib markii la xiray muddo bil ah.",
        "rn": "Abantu bose bavuka bishira bakizana kandi bangana agateka n'ubuzima bwa kiremwa muntu, bakaba bategerezwa",
        "wo": "Doomi aadama yépp danuy juddu, yam ci tawfeex ci sag ak sañ-sañ. Nekk na it ku xam dëgg te ànd na ak xelam",
    }
    column = pa.array([text * 3 for text in texts.values()], pa.large_string())
    assert Identifier().columns(column)["label"].to_pylist() == list(texts)
