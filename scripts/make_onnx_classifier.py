"""Train a small transformer classifier, and write it as annotate/classifier reads it: model.onnx, tokenizer.json and
config.json.

    python scripts/make_onnx_classifier.py FOLDER

It distinguishes running text from page furniture, in English, on the made documents that scripts/train_quality.py has.
Embeddings and self-attention are random and stay so, and the layer above them is trained: enough to show that a model
goes from training to a run, and that its scores do not depend on batches. It is no model to judge documents by. Needs
`onnx` and `onnxruntime`. Running this again gives the same bytes.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from corpusmill.models.classifier import TextClassifier
from corpusmill.train.quality import auc

LABELS = ("bad", "good")
WORDS, WIDTH, HEADS, LAYERS = 2000, 64, 4, 2
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LONGEST = 128  # tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    from train_quality import bad, good, running_text  # beside this script, where other callers do not look

    rng = Random(0)
    works = running_text()
    texts = [text for kind in (bad, good) for text in rng.sample(list(kind(works, rng, 3000)), 600)]
    kinds = np.repeat([0, 1], len(texts) // 2)
    held = np.arange(len(texts)) % 5 == 0
    make(folder, [text for text, out in zip(texts, held) if not out], kinds[~held])
    judged = pa.array([text for text, out in zip(texts, held) if out], pa.large_string())
    scores = TextClassifier(model=str(folder), labels=("good",)).columns(judged)["good"].to_numpy()
    print(f"{folder}: AUC {auc(scores, kinds[held] == 1):.3f} on {held.sum()} made documents held out")


def make(folder: Path, texts: Sequence[str], kinds: NDArray[np.int64], labels: Sequence[str] = LABELS) -> None:
    """Train on texts, of which `kinds` are the numbers of their labels, and write the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(texts)
    tokenizer.save(str(folder / "tokenizer.json"))
    encoder = make_encoder(tokenizer.get_vocab_size())
    features = run(encoder, tokenizer, texts)
    weights, bias = train_head(features, kinds, len(labels))
    onnx.save(make_graph(encoder, weights, bias), str(folder / "model.onnx"))
    config = {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "problem_type": "single_label_classification" if len(labels) > 1 else "regression",
        "max_position_embeddings": 512,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")


def make_tokenizer(texts: Sequence[str]) -> Tokenizer:
    """WordPiece, as BERT's, of the most frequent words and all characters: the library's own trainer breaks ties in
    another way each time."""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = Counter(
        word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)) if word
    )
    characters = sorted({character for word in words for character in word})
    ranked = sorted(words, key=lambda word: (-words[word], word))[:WORDS]
    vocabulary = dict.fromkeys((*SPECIAL, *characters, *(f"##{one}" for one in characters), *ranked))
    tokenizer = Tokenizer(
        models.WordPiece({token: number for number, token in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def make_encoder(words: int) -> dict[str, NDArray[np.float32]]:
    """Random weights, by name."""
    rng = np.random.default_rng(0)
    shapes = {"words": (words, WIDTH)}
    for layer in range(LAYERS):
        shapes |= {f"{name}{layer}": (WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
        shapes |= {f"up{layer}": (WIDTH, 4 * WIDTH), f"down{layer}": (4 * WIDTH, WIDTH)}
    # Of a variance that keeps what goes through the layers at about the same size.
    return {
        name: (rng.standard_normal(shape) / np.sqrt(1 if name == "words" else shape[0])).astype(np.float32)
        for name, shape in shapes.items()
    }


def make_graph(
    encoder: dict[str, NDArray[np.float32]], weights: NDArray[np.float32], bias: NDArray[np.float32]
) -> onnx.ModelProto:
    """Self-attention that sees no padding, the mean over the tokens that are none, and a linear layer."""
    nodes: list[onnx.NodeProto] = []
    held = dict(encoder) | {"weights": weights, "bias": bias}
    for name, value in (("one", 1.0), ("least", -1e9), ("scale", (WIDTH / HEADS) ** -0.5)):
        held[name] = np.array([value], np.float32)
    shapes = {"split": [0, 0, HEADS, WIDTH // HEADS], "join": [0, 0, WIDTH]}
    axes = {"axis1": [1], "axis2": [2], "axes12": [1, 2]}
    numbers = {name: np.array(value, np.int64) for name, value in (shapes | axes).items()}

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    mask = node("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = node("Gather", "words", "input_ids")
    unseen = node("Mul", node("Sub", "one", node("Unsqueeze", mask, "axes12")), "least")
    for layer in range(LAYERS):
        q, k, v = (
            node("Transpose", node("Reshape", node("MatMul", hidden, f"{name}{layer}"), "split"), perm=perm)
            for name, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        seen = node("Softmax", node("Add", node("Mul", node("MatMul", q, k), "scale"), unseen), axis=-1)
        context = node("Reshape", node("Transpose", node("MatMul", seen, v), perm=[0, 2, 1, 3]), "join")
        hidden = node("Add", hidden, node("MatMul", context, f"out{layer}"))
        wide = node("Relu", node("MatMul", hidden, f"up{layer}"))
        hidden = node("Add", hidden, node("MatMul", wide, f"down{layer}"))
    counted = node("Mul", hidden, node("Unsqueeze", mask, "axis2"))
    mean = node("Div", node("ReduceSum", counted, "axis1", keepdims=0), node("ReduceSum", mask, "axis1", keepdims=1))
    nodes.append(helper.make_node("Gemm", [mean, "weights", "bias"], ["logits"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(bias)])]
    tensors = [numpy_helper.from_array(array, name) for name, array in (held | numbers).items()]
    graph = helper.make_graph(nodes, "classifier", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def run(encoder: dict[str, NDArray[np.float32]], tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.float64]:
    """(texts, WIDTH) what the layers below the head make of each text."""
    identity = make_graph(encoder, np.eye(WIDTH, dtype=np.float32), np.zeros(WIDTH, np.float32))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(identity.SerializeToString(), options, providers=["CPUExecutionProvider"])
    features = np.empty((len(texts), WIDTH))
    for row, text in enumerate(texts):
        ids = np.array([tokenizer.encode(text).ids[:LONGEST]], np.int64)
        features[row] = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
    return features


def train_head(
    features: NDArray[np.float64], kinds: NDArray[np.int64], labels: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A linear layer: least squares against 1 for a text's own label and 0 for the others, four times as steep, so
    that a softmax is decided. With one label, the number of the kind itself is learned."""
    wanted = np.eye(labels)[kinds] if labels > 1 else kinds[:, None].astype(np.float64)
    one = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    ridge = len(features) * 1e-3 * np.eye(WIDTH + 1)
    solved = np.linalg.solve(one.T @ one + ridge, one.T @ wanted) * (4 if labels > 1 else 1)
    return solved[:-1].astype(np.float32), solved[-1].astype(np.float32)


if __name__ == "__main__":
    main()
