"""Small files of every kind of model that is read, as bytes: for tests of files that are damaged, and for fuzz."""

import base64
import gzip
import io
import json
import lzma
import struct
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

WORDS, LABELS = ("river", "mill", "the"), ("calm", "wild", "grey")
DIM = 4


def fasttext_file(hierarchical: bool = False, quantised: bool = False, pruned: bool = False, **fields: int) -> bytes:
    """A fastText model. Fields of its header and of its matrices have other values where they are named."""
    has = {
        "dim": DIM, "word_ngrams": 2, "loss": 1 if hierarchical else 3, "bucket": 10, "minn": 2, "maxn": 3,
        "entries": len(WORDS) + len(LABELS), "words": len(WORDS), "labels": len(LABELS), "kept": 4 if pruned else -1,
        "count": 5, "rows": len(WORDS) + (4 if pruned else 10), "columns": DIM, "codes": -1, "parts": 2, "part": 2,
        "last": 2,
    } | fields  # fmt: skip
    head = (has["dim"], 5, 5, 1, 5, has["word_ngrams"], has["loss"], 3, has["bucket"], has["minn"], has["maxn"], 100)
    parts = [struct.pack("<2i12id", 793712314, 12, *head, 1e-4)]
    parts.append(struct.pack("<3i2q", has["entries"], has["words"], has["labels"], 100, has["kept"]))
    parts += [word.encode() + struct.pack("<xqb", 9, 0) for word in WORDS]
    parts += [b"__label__" + label.encode() + struct.pack("<xqb", has["count"], 1) for label in LABELS]
    parts.append(struct.pack("<8i", *(n for i in range(4) for n in (2 * i, i))) if pruned else b"")
    random = np.random.default_rng(1)
    for rows in (has["rows"], len(LABELS)):
        true = max(0, min(rows, 99))
        if quantised:
            codes = random.integers(0, 256, 2 * true, np.uint8)
            size = 2 * true if has["codes"] < 0 else has["codes"]
            parts.append(struct.pack("<??2qi", True, True, rows, has["columns"], size) + codes.tobytes())
            parts.append(struct.pack("<4i", DIM, has["parts"], has["part"], has["last"]))
            parts.append(random.normal(size=256 * DIM).astype("<f4").tobytes() + codes[:true].tobytes())
            parts.append(struct.pack("<4i", 1, 1, 1, 1) + random.normal(size=256).astype("<f4").tobytes())
        else:
            matrix = random.normal(size=(true, DIM)).astype("<f4")
            parts.append(struct.pack("<?2q", False, rows, has["columns"]) + matrix.tobytes())
    return b"".join(parts)


def written(write: Callable[[Path], object]) -> bytes:
    """What is in the file that `write` writes."""
    with TemporaryDirectory() as folder:
        write(Path(folder, "model"))
        return Path(folder, "model").read_bytes()


def arrays_file(card: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    from corpusmill.store.arrays import write_arrays

    encoded = np.frombuffer(json.dumps(card).encode(), np.uint8)
    return written(lambda path: write_arrays(path, {"card": encoded, **arrays}))


def ngram_arrays() -> dict[str, Any]:
    """The arrays of a model of two words, of order 2."""
    from corpusmill.models.ngram import built
    from corpusmill.models.ngram_keys import END, START, UNKNOWN, extend

    none = np.uint64(0)
    ones = np.array([extend(none, word) for word in (UNKNOWN, START, END)], np.uint64)
    twos = np.array([extend(key, START) for key in ones], np.uint64)
    numbers = [np.full(3, -1.0, np.float32)] * 2
    return built([ones, twos], numbers, numbers)._asdict()


def packed_arrays() -> dict[str, Any]:
    from corpusmill.models.ngram_packed import pack

    grams = [np.arange(6).reshape(-1, 1), np.array([[1, 3], [3, 4], [4, 2]])]
    logs = [np.full(6, -2.0, np.float32), np.full(3, -0.5, np.float32)]
    return pack(["ant", "bee", "über"], grams, logs, logs)


def quality_arrays() -> dict[str, Any]:
    from corpusmill.models.quality import NO_SHAPE

    weights = np.linspace(-1, 1, 1 << 10).astype(np.float16)
    return {"weights": weights, "lengths": np.zeros(32, np.float32), "bias": np.zeros(1, np.float32), "shape": NO_SHAPE}


def quality_file(**changes: Any) -> bytes:
    """A quality model, its arrays changed, with the checksum of what they are."""
    from corpusmill.models.quality import checksum

    arrays = {**quality_arrays(), **changes}
    return arrays_file({"format": 2, "checksum": checksum(arrays)}, arrays)


def toxicity_arrays() -> dict[str, Any]:
    from corpusmill.models.toxicity_score import KIND_FEATURES

    return {
        "words": np.frombuffer(b"one\nriver", np.uint8), "kinds": np.array([1, 0], np.uint8),
        "weights": np.zeros(2 + KIND_FEATURES, np.float32), "bias": np.zeros(1, np.float32),
        "close": np.frombuffer(b"three", np.uint8),
    }  # fmt: skip


def wide_tables() -> dict[str, Any]:
    """Of an automaton that knows the letter a."""
    moves = np.zeros((2, 256), np.uint32)
    moves[:, ord("a")] = 1
    return {
        "moves": moves, "states": np.array([[0, 0], [1, 1]], np.int32),
        "table": np.array([[0, 0, 0], [3, -3, 0]], np.int8), "prior": np.zeros(3, np.float32),
        "expected": np.zeros(3, np.float32), "word_hashes": np.array([5, 7], np.uint64),
        "word_lists": np.array([0, 1], np.int16), "list_groups": np.array([-1, 0], np.int16),
        "en-de": np.array([1, 2], np.uint64), "en-de-weights": np.array([1, -1], np.int8),
    }  # fmt: skip


WIDE_CARD: dict[str, Any] = {
    "format": 3, "classes": ["en", "de", "zxx"], "depth": 1, "step": 0.25, "groups": {"en": 0}, "pairs": [["en", "de"]],
}  # fmt: skip


def wide_file(card: dict[str, Any] | None = None, **changes: Any) -> bytes:
    tables, data = {**wide_tables(), **changes}, io.BytesIO()
    np.savez(data, **tables)
    return b"CMWIDE1 " + json.dumps({**WIDE_CARD, **(card or {})}).encode() + b"\n" + lzma.compress(data.getvalue())


def ranks_file() -> bytes:
    tokens = [*(bytes([byte]) for byte in range(256)), b"th", b"he", b"the", b" t"]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def classifier_model() -> bytes:
    """A classifier in ONNX with two labels: the sums of the ids of a text, and of its mask."""
    from onnx import TensorProto, helper

    takes = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    gives = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ids", "axes"], ["a"], keepdims=1),
        helper.make_node("ReduceSum", ["mask", "axes"], ["b"], keepdims=1),
        helper.make_node("Concat", ["a", "b"], ["logits"], axis=1),
    ]
    graph = helper.make_graph(nodes, "made", takes, gives, [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data: bytes = model.SerializeToString()
    return data


ARPA = b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t<unk>\n-1\t<s>\t-0.3\n-1\t</s>\n\n\\2-grams:\n-0.5\t<s> </s>\n\n\\end\\\n"


def kenlm_file(order: int = 2, buckets: float = 1.5, kind: int = 0, counts: tuple[int, ...] = (3, 1)) -> bytes:
    """A file in KenLM's own format, with the tables empty."""
    mark = b"mmap lm http://kheafield.com/code format version 5\n".ljust(56, b"\0")
    machine = struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
    header = struct.pack("<B3xfI?3xI", order, buckets, kind, True, int(kind > 1))
    return mark + machine + header + struct.pack(f"<{len(counts)}Q", *counts) + bytes(200)


@cache
def model_files() -> dict[str, list[dict[str, bytes]]]:
    """kind -> the files of some models of it, by name. The first of each model is the one that is loaded."""
    from made_tokenizers import train_sentencepiece, write_bpe

    bpe = written(lambda path: write_bpe(path, ("</s>", "<unk>"), ("<note>",)))
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["</s>", 0.0], ["a", -1.0], ["\u2581b", -2.0]]}
    marks = {"id": 1, "content": "</s>", "special": True, "single_word": False, "lstrip": False, "rstrip": False}
    spaces = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    unigram_file = json.dumps(
        {"pre_tokenizer": spaces, "model": unigram, "added_tokens": [{**marks, "normalized": False}]}
    ).encode()
    config = json.dumps({"id2label": {"0": "bad", "1": "good"}, "max_position_embeddings": 512}).encode()
    shapes: tuple[dict[str, bool], ...] = (
        {},
        {"hierarchical": True},
        {"quantised": True},
        {"quantised": True, "pruned": True},
    )
    return {
        "fasttext": [{"m.bin": fasttext_file(**shape)} for shape in shapes],
        "ngram": [
            {"m.lm": arrays_file({"format": 1, "order": 2}, ngram_arrays())},
            {"m.lm": arrays_file({"format": 1, "order": 2, "packed": True, "wide": False}, packed_arrays())},
        ],
        "kenlm": [{"m.arpa": ARPA}, {"m.arpa.gz": gzip.compress(ARPA, mtime=0)}, {"m.binary": kenlm_file()}],
        "quality": [{"m.quality": quality_file()}],
        "toxicity": [{"m.toxicity": arrays_file({"format": 2}, toxicity_arrays())}],
        "wide": [{"m.wide": wide_file()}],
        "tokenizer": [
            {"tokenizer.json": bpe},
            {"tokenizer.json.gz": gzip.compress(bpe, mtime=0)},
            {"tokenizer.json": unigram_file},
            {"cl100k_base.tiktoken": ranks_file()},
            *({"m.model": written(partial(train_sentencepiece, kind=kind))} for kind in ("bpe", "unigram")),
        ],
        "onnx": [{"model.onnx": classifier_model(), "tokenizer.json": bpe, "config.json": config}],
    }


def use(kind: str, folder: Path) -> None:
    """Load the model in a folder, as a run does, and apply it to texts that are short, long, empty and odd."""
    import pyarrow as pa

    from corpusmill.models import onnx_classifier, tokenizer
    from corpusmill.models.fasttext import FastText
    from corpusmill.models.fasttext_file import read_labels
    from corpusmill.models.kenlm import check_file
    from corpusmill.models.ngram import NgramModel
    from corpusmill.models.quality import QualityModel
    from corpusmill.models.toxicity import ToxicityModel
    from corpusmill.models.wide import WideModel, read_names

    values = ["the river ran past the mill a b", "", " \n", "x" * 300, "é日本 </s> \u2028", "a b " * 200]
    texts = pa.array(values, pa.large_string())
    others = ("config.json", "model.onnx", "kind.txt")
    path = next(path for path in folder.iterdir() if path.name not in others)
    if kind == "fasttext":
        read_labels(path)
        FastText.load(path).predict(texts)
    elif kind == "ngram":
        NgramModel.load(path).score(texts)
    elif kind == "kenlm":
        check_file(path)
    elif kind == "quality":
        QualityModel.load(path).scores(texts)
    elif kind == "toxicity":
        ToxicityModel.load(path).score(texts)
    elif kind == "wide":
        read_names(path)
        ends = np.cumsum([0, *(len(value.encode()) for value in values)])
        data = np.frombuffer("".join(values).encode() + bytes(64), np.uint8)
        WideModel.load(path).share(data, ends)
    elif kind == "tokenizer":
        tokenizer.load(str(path)).encode_documents(texts)
    else:
        files = onnx_classifier.ModelFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")
        onnx_classifier.load(files, onnx_classifier.ClassifierSettings()).scores(texts)
