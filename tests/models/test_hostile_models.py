"""Files of models made to do harm: what they say of themselves is held against their length before memory is asked for,
and the error names the file, the field, its value and a right one."""

import gzip
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
import zstandard

from corpusmill.errors import AssetError
from corpusmill.models import tokenizer_file
from corpusmill.models import wide_file as wide
from made_models import (
    ARPA,
    arrays_file,
    fasttext_file,
    kenlm_file,
    model_files,
    ngram_arrays,
    packed_arrays,
    quality_file,
    ranks_file,
    toxicity_arrays,
    use,
    wide_file,
    wide_tables,
)

BIG, LOW = 2**31 - 1, -(2**31)


@pytest.mark.parametrize("kind", model_files())
def test_a_model_that_nothing_is_wrong_with_is_applied(kind, tmp_path):
    for number, files in enumerate(model_files()[kind]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        use(kind, folder)


def packed(**changes: Any) -> bytes:
    arrays = {**packed_arrays(), **{name: compressed(array) for name, array in changes.items()}}
    return arrays_file({"format": 1, "order": 2, "packed": True, "wide": False}, arrays)


def compressed(array: Any) -> Any:
    return np.frombuffer(zstandard.compress(array.tobytes()), np.uint8)


def ngrams(card: Any = None, **changes: Any) -> bytes:
    return arrays_file({"format": 1, "order": 2, **(card or {})}, {**ngram_arrays(), **changes})


def toxicity(**changes: Any) -> bytes:
    return arrays_file({"format": 2}, {**toxicity_arrays(), **changes})


def tokenizer(**changes: Any) -> bytes:
    definition = json.loads(model_files()["tokenizer"][0]["tokenizer.json"])
    return json.dumps(definition | changes).encode()


SLOTS = len(ngram_arrays()["keys"])
FULL = np.arange(1, SLOTS + 1).astype(np.uint64)
WORDS = np.frombuffer(b"one\n" + b"r" * 40, np.uint8)
NAN = np.full(32, np.nan, np.float32)
HOSTILE: list[tuple[str, str, bytes, str]] = [
    (
        "fasttext",
        "m.bin",
        fasttext_file(entries=BIG, words=BIG - 3),
        "the number of words is 2,147,483,644, must be from 0",
    ),
    ("fasttext", "m.bin", fasttext_file(labels=0), "the number of labels is 0, must be from 1"),
    ("fasttext", "m.bin", fasttext_file(entries=7), "the number of entries of its dictionary is 7, must be 6"),
    ("fasttext", "m.bin", fasttext_file(dim=BIG), "the number of dimensions is 2,147,483,647"),
    ("fasttext", "m.bin", fasttext_file(dim=-1), "the number of dimensions is -1"),
    ("fasttext", "m.bin", fasttext_file(minn=-5), "minn is -5, must be from 0 to 100"),
    ("fasttext", "m.bin", fasttext_file(maxn=BIG), "maxn is 2,147,483,647"),
    ("fasttext", "m.bin", fasttext_file(word_ngrams=BIG), "wordNgrams is 2,147,483,647"),
    (
        "fasttext",
        "m.bin",
        fasttext_file(kept=1 << 62),
        "the number of buckets that pruning kept is 4,611,686,018,427,387,904",
    ),
    ("fasttext", "m.bin", fasttext_file(True, count=-5), "the count of __label__calm is -5, must be from 0"),
    (
        "fasttext",
        "m.bin",
        fasttext_file(True, count=1 << 60),
        "the count of __label__calm is 1,152,921,504,606,846,976",
    ),
    ("fasttext", "m.bin", fasttext_file(rows=-1, columns=-1), "the number of columns of a matrix is -1, must be 4"),
    ("fasttext", "m.bin", fasttext_file(rows=-1), "the number of rows of a matrix is -1"),
    ("fasttext", "m.bin", fasttext_file(rows=1 << 60), "the number of rows of a matrix is 1,152,921,504,606,846,976"),
    ("fasttext", "m.bin", fasttext_file(quantised=True, rows=0), "do not fit 3 words"),
    ("fasttext", "m.bin", fasttext_file(quantised=True, codes=5), "the number of columns of a quantiser"),
    (
        "fasttext",
        "m.bin",
        fasttext_file(quantised=True, parts=0),
        "the number of parts of a quantiser is 0, must be from 1",
    ),
    ("fasttext", "m.bin", fasttext_file(quantised=True, part=3), "the sum of the columns of the parts of a quantiser"),
    ("fasttext", "m.bin", fasttext_file(quantised=True, last=LOW), "the columns of the last part of a quantiser"),
    (
        "fasttext",
        "m.bin",
        fasttext_file(quantised=True, pruned=True, bucket=BIG),
        "the number of buckets is 2,147,483,647",
    ),
    ("ngram", "m.lm", ngrams({"order": 0}), "the order of the model is 0, must be from 1 to 6"),
    ("ngram", "m.lm", ngrams({"order": "x"}), "the order of the model is x"),
    ("ngram", "m.lm", ngrams({"order": 1 << 40, "packed": True}), "the order of the model is 1099511627776"),
    (
        "ngram",
        "m.lm",
        ngrams(first=np.zeros(3, np.int64)),
        r"first slots of each order is \[0, 0, 0\], must be 3 that rise",
    ),
    ("ngram", "m.lm", ngrams(first=np.array([0, SLOTS + 4, SLOTS])), "first slots of each order"),
    ("ngram", "m.lm", ngrams(first=np.array([0, 3, SLOTS])), "the number of slots of each order"),
    ("ngram", "m.lm", ngrams(keys=FULL), "the number of slots in a row that 1-grams take is 8, must be at most 7 of 8"),
    ("ngram", "m.lm", ngrams(keys=np.zeros(SLOTS, np.uint64)), "the unknown word is none of its words"),
    ("ngram", "m.lm", ngrams(keys=FULL.astype(np.float64)), "the type of the array keys is float64, must be uint64"),
    (
        "ngram",
        "m.lm",
        ngrams(log=np.full(SLOTS, np.nan, np.float32)),
        "a probability or back-off weight is infinite, or none",
    ),
    ("ngram", "m.lm", ngrams(back=np.zeros(1, np.float32)), "the shape of the array back"),
    ("ngram", "m.lm", packed(children_1=np.full(6, 65_535, np.uint16)), "of 2-grams, 6 begin 393210, and there are 3"),
    ("ngram", "m.lm", packed(next_2=np.full(3, 65_000, np.uint16)), "IndexError"),
    ("ngram", "m.lm", packed(log_2=np.zeros(9, np.uint8)), "3 2-grams have 9 probabilities and 3 weights"),
    ("ngram", "m.lm", packed(words=np.zeros(5 << 20, np.uint8)), "says that it has 5242880 bytes"),
    ("quality", "m.quality", quality_file(lengths=NAN), "a weight is infinite, or none, must be a number"),
    (
        "quality",
        "m.quality",
        quality_file(weights=np.zeros(1000, np.float16)),
        r"array weights is \[1000\], must be \[1024\]",
    ),
    ("quality", "m.quality", quality_file(weights=np.zeros((), np.float16)), r"the shape of the array weights is \[\]"),
    (
        "quality",
        "m.quality",
        quality_file(bias=np.zeros(0, np.float32)),
        r"the shape of the array bias is \[0\], must be \[1\]",
    ),
    (
        "toxicity",
        "m.toxicity",
        toxicity(words=np.full(1 << 20, 10, np.uint8)),
        "the number of words in words is 1,048,577",
    ),
    ("toxicity", "m.toxicity", toxicity(words=WORDS), "the length of a word is 40, must be 32 at most"),
    ("toxicity", "m.toxicity", toxicity(bias=NAN[:1]), "a weight is infinite, or none"),
    ("wide", "m.wide", wide_file({"depth": "x"}), "depth is 'x', must be a int"),
    ("wide", "m.wide", wide_file({"depth": 2**63 - 1}), "depth is 9223372036854775807, must be from 1 to 64"),
    ("wide", "m.wide", wide_file({"classes": []}), r"classes is \[\], must be a list of names"),
    ("wide", "m.wide", wide_file({"groups": {"en": 5}}), "the groups of its languages are from -1 to 5"),
    ("wide", "m.wide", wide_file({"pairs": [["en", "xx"]]}), "KeyError: 'xx'"),
    (
        "wide",
        "m.wide",
        wide_file(moves=wide_tables()["moves"] + 7),
        "the state after a byte is from 7 to 8, must be from 0 to 1",
    ),
    ("wide", "m.wide", wide_file(states=np.array([[0, 0], [-1, 1]], np.int32)), "the row of a state is from -1 to 0"),
    ("wide", "m.wide", wide_file(states=np.array([[0, 0], [1, 9]], np.int32)), "the n-gram of a state is from 0 to 9"),
    ("wide", "m.wide", wide_file(word_lists=np.array([0, 999], np.int16)), "the list of a word is from 0 to 999"),
    ("wide", "m.wide", wide_file(prior=NAN[:3]), "a prior is infinite, or none"),
    (
        "wide",
        "m.wide",
        wide_file(table=np.zeros((2, 9), np.int8)),
        r"the array table is int8 \[2, 9\], must be int8 \[2, 3\]",
    ),
    (
        "kenlm",
        "m.arpa",
        ARPA.replace(b"ngram 2=1", b"ngram 2=%d" % (1 << 62)),
        "the number of 2-grams is 4,611,686,018,427,387,904",
    ),
    ("kenlm", "m.arpa", ARPA.replace(b"ngram 2=1", b"ngram 99=1"), "the order of n-grams is 99, must be from 1 to 6"),
    ("kenlm", "m.arpa.gz", gzip.compress(ARPA.replace(b"1=3", b"1=99999999")), "the number of 1-grams is 99,999,999"),
    ("kenlm", "m.binary", kenlm_file(order=0, counts=()), "the order of n-grams is 0, must be from 2 to 6"),
    ("kenlm", "m.binary", kenlm_file(order=255), "the order of n-grams is 255"),
    (
        "kenlm",
        "m.binary",
        kenlm_file(buckets=float("nan")),
        "the number of buckets for an n-gram is nan, must be a number",
    ),
    ("kenlm", "m.binary", kenlm_file(buckets=float("inf")), "the number of buckets for an n-gram is inf"),
    ("kenlm", "m.binary", kenlm_file(buckets=1e30), "the number of 1-grams is 3, must be at most 0"),
    ("kenlm", "m.binary", kenlm_file(counts=(3, 1 << 60)), "the number of 2-grams is 1,152,921,504,606,846,976"),
    (
        "kenlm",
        "m.binary",
        kenlm_file(kind=5, counts=(1 << 63, 1)),
        "the number of 1-grams is 9,223,372,036,854,775,808",
    ),
    ("kenlm", "m.binary", kenlm_file()[:90], "the length of its header is 90, must be 108 or more"),
    ("kenlm", "m.binary", kenlm_file()[:110], "the number of bytes is 110, must be that of its header"),
    (
        "tokenizer",
        "t.json",
        tokenizer(model={"vocab": {"a": 2**32 - 1}}),
        "the id of '</s>'|the id of 'a' is 4294967295, must be at",
    ),
    ("tokenizer", "t.json", tokenizer(model={"vocab": [[7, 0.0]]}), "the token 7 is not a string"),
    ("tokenizer", "t.json", tokenizer(pre_tokenizer="x"), "pre_tokenizer is not an object"),
    ("tokenizer", "t.json", b'{"model":' * 100_000, "RecursionError"),
    ("tokenizer", "cl100k_base.tiktoken", ranks_file() + b"A" * 40_000 + b" 999\n", "a token of 40000 characters"),
]


@pytest.mark.parametrize(
    ("kind", "name", "content", "said"), HOSTILE, ids=[f"{kind}: {said[:40]}" for kind, _, _, said in HOSTILE]
)
def test_what_a_file_says_of_itself_is_not_believed(kind, name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(AssetError, match=said) as error:
            use(kind, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert name in str(error.value)


def test_arrays_that_unpack_to_more_than_any_model_has_are_not_unpacked(tmp_path, monkeypatch):
    (tmp_path / "m.wide").write_bytes(wide_file(more=np.zeros(1 << 20, np.int8)))
    use("wide", tmp_path)
    monkeypatch.setattr(wide, "MAX_UNPACKED", 1 << 20)
    with pytest.raises(AssetError, match="LZMAError: Memory usage limit"):
        wide.unpacked(tmp_path / "m.wide")


def test_a_tokenizer_that_unpacks_to_more_than_any_has_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizer_file, "MAX_UNPACKED", 1 << 20)
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(bytes(2 << 20)))
    with pytest.raises(AssetError, match="holds more than 1 MiB"):
        use("tokenizer", tmp_path)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"num_labels": BIG}, "num_labels is 2,147,483,647, must be at most 65,536"),
        ({"num_labels": 2, "max_position_embeddings": float("inf")}, "OverflowError"),
        ({"id2label": {"5": "good"}}, "KeyError"),
    ],
)
def test_the_config_of_a_classifier_is_not_believed(config, said, tmp_path):
    pytest.importorskip("onnxruntime")
    files = model_files()["onnx"][0] | {"config.json": json.dumps(config).encode()}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AssetError, match=said):
        use("onnx", tmp_path)


@pytest.mark.parametrize("outside", [False, True])
def test_the_weights_of_a_classifier_are_not_believed(outside, tmp_path):
    """The library holds what a tensor says of its size against what there is."""
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, load_from_string

    files = model_files()["onnx"][0]
    graph = load_from_string(files["model.onnx"])
    (weights,) = graph.graph.initializer
    weights.dims[:] = [1 << 40]
    if outside:
        weights.ClearField("int64_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value="weights.bin")
    for name, data in {**files, "model.onnx": graph.SerializeToString(), "weights.bin": bytes(4)}.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AssetError, match="onnxruntime cannot load it: "):
        use("onnx", tmp_path)
