"""A run that cuts documents at sentences: shards that verify, pieces that end as they should, one answer for any units."""

import json
import shutil
from random import Random

import numpy as np
import pytest

import corpusmill
from corpusmill import loader, shards
from corpusmill.errors import RecipeError, ShardError
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.shards.layout import PADDING
from corpusmill.steps.pack.best_fit import BestFit
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.pack.one_per_row import OnePerRow
from corpusmill.storage import checksum
from made_run import prose
from made_tokenizers import texts, write_bpe


def records(count=40):
    """Documents of up to 8 paragraphs of two sentences, each shorter than a row."""
    random = Random(7)

    def paragraph():
        return " ".join(prose(random, random.randrange(5, 14)).capitalize() for _ in range(2))

    made = ["\n\n".join(paragraph() for _ in range(random.randrange(1, 9))) for _ in range(count)]
    return [json.dumps({"text": text}) for text in made]


def write_recipe(folder, pack, tokenize=None, unit_mb=64, per_shard=1000):
    (folder / "in.jsonl").write_text("\n".join(records()) + "\n")
    recipe = {
        "name": "split",
        "read": [{"jsonl": {"paths": str(folder / "in.jsonl")}}],
        "steps": [{"tokenize/bpe": tokenize or {}}, pack],
        "write": [{"shards": {"tokens_per_shard": per_shard}}],
        "run": {"unit_mb": unit_mb},
    }
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    return folder / "recipe.yaml"


def pieces(read, tokenizer):
    """The text of every piece of a document in a row."""
    texts = []
    for row in range(0, len(read), read.index.sequence_length):
        spans = read.spans(row, row + read.index.sequence_length)
        edges = [*spans.start.tolist(), read.index.sequence_length]
        for i, document in enumerate(spans.document.tolist()):
            if document != PADDING:
                texts.append(tokenizer.decode(read.tokens(row + edges[i], row + edges[i + 1]).tolist()))
    return texts


@pytest.mark.parametrize("method", ["concat", "best_fit", "one_per_row"])
@pytest.mark.parametrize("split_at", ["paragraph", "sentence"])
def test_pieces_end_with_a_sentence_and_hold_every_token(tmp_path, method, split_at):
    recipe = write_recipe(tmp_path, {f"pack/{method}": {"length": 64, "split_at": split_at}})
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    read = shards.open(done.shards)
    assert read.verify() == []
    assert len(read.index.shards) > 1
    assert (read.index.packing, read.index.split_at) == (method, split_at)
    ends = ("<|endoftext|>", "\n\n") if split_at == "paragraph" else ("<|endoftext|>", "\n\n", ".")
    decoded = pieces(read, load("gpt2"))
    assert all(piece.endswith(ends) for piece in decoded)
    assert sum(not piece.endswith("<|endoftext|>") for piece in decoded) > 10
    packed = done.waterfall.packed
    assert packed["tokens"] + packed["padding"] == packed["rows"] * 64 == len(read)
    whole_texts = [json.loads(record)["text"] for record in records()]
    whole = load("gpt2").encode_documents(texts(*whole_texts))[0]
    assert packed["tokens"] == len(whole)


def test_the_loader_refuses_rows_of_another_length(tmp_path):
    recipe = write_recipe(tmp_path, {"pack/concat": {"length": 64, "split_at": "sentence"}})
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    data = loader.open(done.shards)
    assert data.batch(step=0, batch_size=2)["tokens"].shape == (2, 64)
    with pytest.raises(ShardError, match=r"rows of 64 tokens \(cut at each sentence\), so rows of 32 would cut them"):
        data.batch(step=0, batch_size=2, seq_len=32)


def test_a_bos_token_is_only_at_the_begin_of_documents_and_is_verified(tmp_path):
    spec = write_bpe(tmp_path / "t.json", ("<s>", "</s>"))
    tokenize = {"tokenizer": spec, "bos": "<s>"}
    recipe = write_recipe(tmp_path, {"pack/concat": {"length": 64, "split_at": "sentence"}}, tokenize, per_shard=10**6)
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    read = shards.open(done.shards)
    assert read.verify() == []
    assert (read.index.bos, read.index.bos_id) == ("<s>", 256)
    assert int((read.tokens(0, len(read)) == 256).sum()) == len(records())
    # One more inside a document, with checksums that say nothing of it.
    changed = shutil.copytree(done.shards, tmp_path / "changed")
    data = np.fromfile(changed / "00000.bin", np.uint16)
    data[3] = 256
    data.tofile(changed / "00000.bin")
    index = json.loads((changed / "index.json").read_text())
    index["shards"][0]["tokens_xxh3_128"] = checksum(changed / "00000.bin")
    (changed / "index.json").write_text(json.dumps(index))
    (problem,) = shards.open(changed).verify()
    assert "40 documents start here, 40 of them with the BOS token, which occurs 41 times" in problem


def test_an_index_without_a_begin_or_a_cut_does_not_speak_of_them(tmp_path):
    done = corpusmill.run(
        write_recipe(tmp_path, {"pack/concat": {"length": 64}}), folder=tmp_path / "run", executor=Serial()
    )
    index = json.loads((done.shards / "index.json").read_text())
    assert not {"bos", "bos_id", "split_at"} & set(index)
    assert shards.open(done.shards).index.bos is None


def test_tokens_that_are_dropped_at_the_end_are_reported(tmp_path):
    recipe = write_recipe(tmp_path, {"pack/concat": {"length": 64, "remainder": "drop"}})
    packed = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial()).waterfall.packed
    whole = len(load("gpt2").encode_documents(texts(*(json.loads(r)["text"] for r in records())))[0])
    assert packed["discarded_tokens"] == whole % 64 > 0
    assert packed["tokens"] == whole - whole % 64


def test_split_at_takes_only_words_that_packing_knows():
    for step in (BestFit, OnePerRow, Concat):
        with pytest.raises(RecipeError, match='split_at is "paragraph", "sentence" or null, got "word"'):
            step(split_at="word")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match='with split_at every row is padded, so remainder is "pad"; got "drop"'):
        Concat(split_at="sentence", remainder="drop")
