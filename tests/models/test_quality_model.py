"""What a quality model scores, and which files are none."""

import json
import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError, RecipeError
from corpusmill.models import quality_score as kernels
from corpusmill.models.quality import QUALITY_EN, QualityModel, Scorer, checksum, linear
from corpusmill.models.quality_shape import SHAPE_FEATURES, SHAPE_NAMES
from corpusmill.store.arrays import map_arrays, write_arrays
from corpusmill.text.buffers import view
from corpusmill.text.plain_tokens import token_spans
from corpusmill.text.unicode import classes
from corpusmill.train.quality import shapes_of

MASK = 2**64 - 1
K0, K1, K2, K3 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3
BITS = 10


def slow_mix(a: int, b: int) -> int:
    product = a * b
    return (product & MASK) ^ (product >> 64)


def slow_hash(token: bytes) -> int:
    folded = bytes(byte | 0x20 for byte in token)
    size = len(token)
    if size <= 8:
        return slow_mix(int.from_bytes(folded, "little") ^ K1, size ^ K0)
    h = size ^ K0
    for at in range(0, size - 8, 8):
        h = slow_mix(int.from_bytes(folded[at : at + 8], "little") ^ K1, h)
    return slow_mix(int.from_bytes(folded[-8:], "little") ^ K2, h)


def slow_rows(text: str, bits: int = BITS) -> list[int]:
    """The definition: tokens and line ends, each alone and with the one before it."""
    data = text.encode()
    hashes: list[int] = []
    end = None
    for start, stop in token_spans(text):
        if end is not None and b"\n" in data[end:start]:
            hashes.append(int(kernels.LINE_END_HASH))
        hashes.append(slow_hash(data[start:stop]))
        end = stop
    rows = []
    for before, h in zip([0, *hashes], hashes):
        rows += [h >> (64 - bits), slow_mix(before ^ K2, h ^ K3) >> (64 - bits)]
    return rows


def slow_shape(text: str) -> list[float]:
    """The definition of each feature, in the order of quality_shape.NAMES."""
    data = text.encode()
    spans = token_spans(text)
    tokens = [data[start:end] for start, end in spans]
    lines: list[list[bytes]] = [[]]
    for i, token in enumerate(tokens):
        if i and b"\n" in data[spans[i - 1][1] : spans[i][0]]:
            lines.append([])
        lines[-1].append(token)
    words = [t for t in tokens if t[:1].isalpha() or t[0] >= 0x80]
    ends, quotes, upper = b".?!", b"\"'", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    second = [len(w) > 1 and w[1] in upper for w in words]
    number = sum(48 <= t[0] <= 57 for t in tokens)
    ended, commas = sum(t[0] in ends for t in tokens), sum(t == b"," for t in tokens)
    symbols = len(tokens) - len(words) - number - ended - commas - sum(t[0] in quotes for t in tokens)
    last: dict[int, tuple[int, int]] = {}
    repeated = 0
    for i, word in enumerate(words):
        h = slow_hash(word)
        before = last.get(h % 1024)
        repeated += before is not None and before[0] == h and i - before[1] <= 100
        last[h % 1024] = h, i
    n, m, w = len(tokens), len(lines), max(len(words), 1)
    return [
        math.log2(n), math.log2(m), math.log2(n / m),
        sum(word[0] in upper for word in words) / w,
        sum(word[0] in upper and two for word, two in zip(words, second)) / w,
        sum(word[0] not in upper and two for word, two in zip(words, second)) / w,
        number / n, ended / n, commas / n, symbols / n, sum(map(len, words)) / w,
        sum(len(word) == 1 and word not in (b"a", b"A", b"i", b"I") for word in words) / w,
        sum(len(word) >= 8 for word in words) / w, sum(len(word) <= 3 for word in words) / w, repeated / w,
        sum(len(line) <= 5 for line in lines) / m, sum(line[-1][0] in ends + quotes for line in lines) / m,
        sum(len(line) for line in lines if len(line) > 12) / n,
    ]  # fmt: skip


def slow_score(text: str, model: QualityModel) -> float:
    rows = slow_rows(text)
    if not rows:
        return math.nan
    looks = sum(
        weight * min(max(value, low), high)
        for value, (weight, low, high) in zip(slow_shape(text), model.linear.shape.tolist())
    )
    n = len(rows) // 2
    i = n.bit_length() - 1
    share = n / 2**i - 1
    length = (1 - share) * float(model.linear.lengths[i]) + share * float(model.linear.lengths[i + 1])
    total = sum(float(model.linear.weights[row]) for row in rows)
    return 1 / (1 + math.exp(-(float(model.linear.bias) + total / math.sqrt(n) + length + looks)))


def made(seed: int = 0) -> QualityModel:
    rng = np.random.default_rng(seed)
    return QualityModel(
        {"kind": "quality"},
        linear(
            rng.normal(size=1 << BITS),
            rng.normal(size=kernels.LENGTHS).astype(np.float32),
            rng.normal(size=1).astype(np.float32),
            np.sort(rng.normal(size=(SHAPE_FEATURES, 3)), axis=1).astype(np.float32),
        ),
    )


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


words = st.sampled_from(
    [
        "the",
        "The",
        "river",
        "a",
        ",",
        "!",
        '"',
        "東京",
        "É",
        "é",
        "internationalisation",
        "x" * 40,
        "8.5",
        "NASA",
        "tHe",
        "b",
    ]
)
gaps = st.sampled_from([" ", "  ", "\n", "\n\n", " \n ", "\t", "\u00a0", "", "\r\n"])
texts = st.one_of(
    st.text(max_size=40), st.lists(st.tuples(words, gaps), max_size=30).map(lambda p: "".join(map("".join, p)))
)


@given(st.lists(texts, max_size=5))
@settings(max_examples=100)
def test_scores_agree_with_the_definition(batch):
    model = made()
    expected = [slow_score(text, model) for text in batch]
    np.testing.assert_allclose(model.scores(column(*batch)), expected, rtol=1e-5)


@given(st.lists(texts, min_size=1, max_size=5))
@settings(max_examples=60)
def test_shapes_agree_with_the_definition(batch):
    expected = [slow_shape(text) if token_spans(text) else [0.0] * SHAPE_FEATURES for text in batch]
    np.testing.assert_allclose(shapes_of(column(*batch)), expected, rtol=1e-5, atol=1e-6)


def test_a_shape_is_not_that_of_the_document_before():
    many = "\n".join(["word " * 30] * 50)
    assert shapes_of(column(many, "word word", many))[1].tolist() == pytest.approx(slow_shape("word word"), rel=1e-6)
    assert len(SHAPE_NAMES) == SHAPE_FEATURES


def test_a_document_longer_than_a_block_of_features_is_read_whole():
    text = " ".join(f"word{i}\n" for i in range(kernels.FEATURE_BLOCK))
    assert len(slow_rows(text)) > 3 * kernels.FEATURE_BLOCK
    assert made().scores(column(text, text + " end"))[0] == pytest.approx(slow_score(text, made()), rel=1e-4)


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
@settings(max_examples=30)
def test_a_score_does_not_depend_on_the_batch(first, second):
    model = made(1)
    whole = model.scores(column(*first, *second))
    parts = np.concatenate([model.scores(column(*first)), model.scores(column(*second))])
    np.testing.assert_array_equal(whole, parts)


def test_capitals_do_not_count_and_lines_do():
    """As far as words go; capitals are a part of what a text looks like."""
    of_words = QualityModel({}, made().linear._replace(shape=np.zeros((SHAPE_FEATURES, 3), np.float32)))
    one, same, other = of_words.scores(column("The river\nran", "the RIVER\nRAN", "the river ran"))
    assert one == same != other


def test_hashes_are_those_of_files_that_exist():
    # A model file is worth nothing if these change; they change only together with quality.FORMAT.
    text = view(column("The river ran.\nInternationally"))
    rows = np.zeros(40, np.int32)
    start, end = text.offsets
    _, _, features = kernels.find_features(
        text.data, start, end, kernels.NO_WORD, np.uint64(38), classes(), rows, kernels.new_tally()
    )
    assert rows[:features].tolist() == [
        *(16195913, 999083, 15747452, 46837799, 35942819, 9928324),
        *(26468608, 59939321, 2634792, 64805607, 34323893, 64759742),
    ]


def test_text_without_a_token_has_no_score():
    assert Scorer().scores(column("", None, " \n", "a b")).is_null().to_pylist() == [True, True, True, False]


def test_a_saved_model_loads_unchanged(tmp_path):
    model, path = made(), tmp_path / "model.quality"
    model.save(path)
    again = QualityModel.load(path)
    text = column("The river ran past the mill.", "buy now")
    np.testing.assert_array_equal(again.scores(text), model.scores(text))
    assert again.card["kind"] == "quality"
    assert [file.name for file in tmp_path.iterdir()] == ["model.quality"]


def damaged(tmp_path, change):
    path = tmp_path / "model.quality"
    made().save(path)
    path.write_bytes(change(path.read_bytes()))
    return str(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:20],
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        lambda data: data[:300] + b"\xff" + data[301:],
        lambda data: data.replace(b'"card"', b'"cart"', 1),
    ],
    ids=["half", "head", "a bit of the weights", "a byte of the card", "no card"],
)
def test_a_damaged_file_is_refused_before_anything_is_scored(tmp_path, change):
    with pytest.raises(AssetError, match="damaged"):
        Scorer(model=damaged(tmp_path, change))


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "model.quality"
    made().save(path)
    arrays = {name: np.array(array) for name, array in map_arrays(path).items()}
    arrays["card"] = np.frombuffer(bytes(arrays["card"]).replace(b'"format": 2', b'"format": 3'), np.uint8)
    write_arrays(path, arrays)
    with pytest.raises(AssetError, match="format 3; this reads 2"):
        Scorer(model=str(path))


def test_a_file_of_the_first_format_scores_as_it_did(tmp_path):
    path = tmp_path / "model.quality"
    model = made()
    shapeless = QualityModel(model.card, model.linear._replace(shape=np.zeros((SHAPE_FEATURES, 3), np.float32)))
    shapeless.save(path)
    arrays = {name: np.array(array) for name, array in map_arrays(path).items() if name != "shape"}
    card = json.loads(bytes(arrays.pop("card"))) | {"format": 1, "checksum": checksum(arrays)}
    write_arrays(path, {"card": np.frombuffer(json.dumps(card).encode(), np.uint8), **arrays})
    some = column("The river ran.", "buy now")
    np.testing.assert_array_equal(QualityModel.load(path).scores(some), shapeless.scores(some))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 something else", struct.pack("<i", 1)])
def test_another_file_is_not_a_model(tmp_path, content):
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(AssetError, match="neither a quality model"):
        Scorer(model=str(path))


def test_a_missing_model_and_a_folder_are_refused(tmp_path):
    with pytest.raises(AssetError, match=r'no asset "quality-em".*did you mean "quality-en"'):
        Scorer(model="quality-em")
    with pytest.raises(AssetError, match="a folder"):
        Scorer(model=str(tmp_path))


def test_a_fasttext_model_needs_the_label_that_means_good():
    with pytest.raises(RecipeError, match="set `good` to the label that means good"):
        Scorer(model="lid.176.ftz")
    with pytest.raises(RecipeError, match=r'"english" is not a label of lid\.176\.ftz'):
        Scorer(model="lid.176.ftz", good="english")
    with pytest.raises(RecipeError, match="Leave it out"):
        Scorer(model=QUALITY_EN, good="hq")


def test_the_score_of_a_fasttext_model_is_that_of_its_label():
    sentences = column("The river ran past the old mill.", "Der Fluss lief an der Mühle vorbei.", "", None)
    english, german = (Scorer(model="lid.176.ftz", good=label).scores(sentences).to_pylist() for label in ("en", "de"))
    assert min(english[0], german[1]) > 0.9 and max(english[1], german[0]) < 0.1
    assert english[2:] == [None, None]
    assert max(english[0], german[1]) <= 1


def test_the_model_that_ships_prefers_running_text():
    prose = (
        "Every harbour office has one pinned to the wall, and almost nobody asks where the numbers come from. The pattern "
        "is made of many smaller patterns laid on top of each other, and each of them has a known period.\n"
    ) * 3
    menu = "Home\nAbout us\nContact\nAdd to cart\nRead more\nPrice: $12.99\nShowing 12 of 80 results\nNext page\n"
    good, bad = Scorer().scores(column(prose, menu)).to_pylist()
    assert bad < 0.2 and good > 0.8
