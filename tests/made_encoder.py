"""A tiny encoder of texts in ONNX: python tests/made_encoder.py writes tests/data/encoder, from where tests read it.

The vector of a token is one of 40 random ones, and that of the model's output is the same: no layer is above it.
"""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

FOLDER = Path(__file__).parent / "data" / "encoder"
WORDS = "[PAD] [UNK] [CLS] [SEP] the river ran past old mill and nobody in village knew how far it went before met sea".split()
WIDTH = 8


def make(folder: Path, pooled: bool = False) -> Path:
    """pooled   give a vector of the text itself, as exports of sentence-transformers may"""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    specials = [(name, WORDS.index(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=specials)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 64}) + "\n")
    table = np.random.default_rng(0).standard_normal((len(WORDS), WIDTH)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", WIDTH])]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", ["last_hidden_state"], ["sentence_embedding"], axes=[1], keepdims=0))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH]))
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        outputs,
        [numpy_helper.from_array(table, "table")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "model.onnx"
    )
    return folder


if __name__ == "__main__":
    make(FOLDER)
