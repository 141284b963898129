"""Transformers of PyTorch say of a text what transformers itself has them say, in batches of any size."""

from pathlib import Path

import numpy as np
import pytest

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps import Classifier, Embedding

torch = pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
transformers = pytest.importorskip("transformers")
WORDS = "[PAD] [UNK] [CLS] [SEP] the river ran past old mill and nobody in village knew how far it went before met sea".split()
TEXTS = [
    "the river ran past the old mill",
    "nobody knew",
    "how far it went before it met the sea and the village",
    "mill",
]


def make(folder: Path, labels: int) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokens = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    specials = [(name, WORDS.index(name)) for name in ("[CLS]", "[SEP]")]
    tokens.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=specials)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, **special).save_pretrained(folder)
    torch.manual_seed(labels)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, num_labels=labels, **shape)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("model"), labels=3)


def plain(folder, kind):
    """What transformers gives for each text alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = kind.from_pretrained(folder).eval()
    with torch.inference_mode():
        return [model(**tokenizer(text, return_tensors="pt"))[0][0].numpy().astype(np.float64) for text in TEXTS]


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_scores_are_those_of_transformers(folder, batch):
    found = Classifier(model=str(folder), labels=("LABEL_1",), window=64, batch=batch, provider="cpu").signals(
        docs(*TEXTS, None)
    )
    logits = np.stack(plain(folder, transformers.AutoModelForSequenceClassification))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.allclose(found["score"].to_pylist()[:-1], shares.max(axis=1), atol=2e-4)
    assert np.allclose(found["label_1"].to_pylist()[:-1], shares[:, 1], atol=2e-4)
    assert found["label"].to_pylist() == [*(f"LABEL_{best}" for best in shares.argmax(axis=1)), None]


@pytest.mark.parametrize("batch", [1, 32])
def test_vectors_are_those_of_transformers(folder, batch):
    found = (
        Embedding(model=str(folder), window=64, batch=batch, provider="cpu")
        .signals(docs(*TEXTS, " "))["vector"]
        .to_pylist()
    )
    means = [states.mean(axis=0) for states in plain(folder, transformers.AutoModel)]
    assert found.pop() is None
    assert np.allclose(found, [mean / np.linalg.norm(mean) for mean in means], atol=2e-4)


def test_what_is_wrong_is_said(folder, tmp_path):
    with pytest.raises(RecipeError, match='PyTorch has no "quantum" on this machine'):
        Classifier(model=str(folder), window=64, provider="quantum").signals(docs("mill"))
    make(tmp_path, labels=2)
    (tmp_path / "model.safetensors").write_bytes(b"no arrays")
    with pytest.raises(AssetError, match="transformers cannot load it"):
        Classifier(model=str(tmp_path), window=64).signals(docs("mill"))
