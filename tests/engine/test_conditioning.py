"""Runs that fill in documents, put URLs before them, and say which tokens have no loss."""

import json
from random import Random
from typing import Any

import numpy as np
import pytest

import corpusmill
from corpusmill import loader, shards
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.loader import IGNORE, TokenLoader
from corpusmill.models.fill_in import Fim, restore, sentinel_ids
from corpusmill.models.tokenizer import load
from made_run import prose
from made_tokenizers import write_bpe

SENTINELS = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")
LENGTH = 128


def texts():
    random = Random(3)
    return [prose(random, random.randrange(2, 60)) for _ in range(60)]


def made(folder, pack, tokenize, write="shards", unit_mb=64):
    folder.mkdir(exist_ok=True)
    records = [json.dumps({"text": text, "url": f"https://site{i % 3}.example/{i}"}) for i, text in enumerate(texts())]
    (folder / "in.jsonl").write_text("\n".join(records) + "\n")
    recipe = {
        "name": "between",
        "read": [{"jsonl": {"paths": str(folder / "in.jsonl")}}],
        "steps": [{"tokenize/bpe": tokenize}, pack],
        "write": [write],
        "run": {"unit_mb": unit_mb},
    }
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    return corpusmill.run(folder / "recipe.yaml", folder=folder / "run", executor=Serial())


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return write_bpe(tmp_path_factory.mktemp("spec") / "t.json", ("<|endoftext|>", "<s>"), SENTINELS)


@pytest.mark.parametrize(
    "pack", [{"pack/best_fit": {"length": LENGTH}}, {"pack/concat": {"length": LENGTH, "split_at": "sentence"}}]
)
def test_no_row_ends_in_a_text_that_is_filled_in_and_sentinels_have_no_loss(tmp_path, spec, pack):
    done = made(tmp_path, pack, {"tokenizer": spec, "fim": {"rate": 0.7}})
    read = shards.open(done.shards)
    assert read.verify() == []
    fim = Fim(rate=0.7)
    tokenizer = load(spec)
    marks = sentinel_ids(tokenizer, fim)
    assert read.index.loss.without == tuple(marks)
    whole: dict[int, Any] = {}
    for row in range(0, len(read), LENGTH):
        spans = read.spans(row, row + LENGTH)
        edges = [*spans.start.tolist(), LENGTH]
        for document, offset, a, b in zip(spans.document.tolist(), spans.offset.tolist(), edges, edges[1:]):
            if document >= 0:
                piece = read.tokens(row + a, row + b)
                restore(tokenizer, piece, fim)  # raises ValueError for half of one
                whole.setdefault(document, {})[offset] = piece
    got = {d: restore(tokenizer, np.concatenate([parts[o] for o in sorted(parts)]), fim) for d, parts in whole.items()}
    assert [got[d] for d in sorted(got)] == texts()
    assert sum(len(parts) > 1 for parts in whole.values()) > 5
    batch = loader.open(done.shards).batch(step=0, batch_size=len(read) // LENGTH)
    assert not np.isin(batch["targets"], marks).any()
    ends = np.isin(np.roll(batch["tokens"], -1, axis=1)[:, :-1], marks)
    assert not batch["loss_mask"][:, :-1][ends].any()
    assert batch["loss_mask"].mean() > 0.7


@pytest.mark.parametrize("pack", ["pack/concat", "pack/buckets"])
def test_packing_that_would_cut_them_is_refused(tmp_path, spec, pack):
    with pytest.raises(RecipeError, match=r"would cut them in half; take pack/best_fit"):
        made(tmp_path, {pack: {"length": LENGTH}}, {"tokenizer": spec, "fim": {}})


@pytest.mark.parametrize(("pack", "bos"), [("pack/concat", None), ("pack/concat", "<s>"), ("pack/best_fit", None)])
def test_prefixes_have_no_loss_wherever_rows_end(tmp_path, spec, pack, bos):
    done = made(
        tmp_path,
        {pack: {"length": LENGTH}},
        {"tokenizer": spec, "prefix": {"share": 0.6}, "bos": bos},
        {"shards": {"tokens_per_shard": 5 * LENGTH}},
    )
    read = shards.open(done.shards)
    assert read.verify() == []
    assert len(read.index.shards) > 2
    tokenizer = load(spec, bos=bos)
    # The stream, document by document; the loss that each token should have, as a target.
    documents: dict[int, Any] = {}
    places = [*map(read.document_at, range(len(read))), None]
    for place, token in zip(places, read.tokens(0, len(read)).tolist()):
        if place is not None:
            documents.setdefault(place.document, {})[place.offset] = token
    sizes = {}
    prefixed = 0
    for document, ids in documents.items():
        text = tokenizer.decode([ids[i] for i in range(len(ids) - 1)][bool(bos) :])
        head = f"URL: site{document % 3}.example\n\n"
        prefixed += text.startswith(head)
        sizes[document] = len(head) if text.startswith(head) else 0
        assert text[sizes[document] :] == texts()[document]
    assert 20 < prefixed < 50
    data = TokenLoader(done.shards, batch_size=3, shuffle=False, epochs=1, drop_last=False)
    for step in range(len(data)):
        batch = data.at(step)
        for row in range(len(batch["tokens"])):
            for i in range(LENGTH):
                token = (step * 3 + row) * LENGTH + i
                here, after = places[token : token + 2]
                follows = (
                    here is not None
                    and after is not None
                    and (here.document, here.offset + 1) == (after.document, after.offset)
                )
                first = int(bool(bos))
                loss = follows and not first <= here.offset + 1 < first + sizes[here.document]
                assert (batch["targets"][row, i] != IGNORE) == loss, (token, here)
                assert batch["loss_mask"][row, i] == loss


def test_goldfish_is_a_rule_of_the_index_and_the_bytes_are_those_of_shards_without(tmp_path, spec):
    plain = made(tmp_path / "plain", {"pack/best_fit": {"length": LENGTH}}, {"tokenizer": spec})
    write = {"shards": {"goldfish": {"k": 3, "h": 4}}}
    done = made(tmp_path / "goldfish", {"pack/best_fit": {"length": LENGTH}}, {"tokenizer": spec}, write)
    assert (done.shards / "00000.bin").read_bytes() == (plain.shards / "00000.bin").read_bytes()
    assert (done.shards / "00000.idx").read_bytes() == (plain.shards / "00000.idx").read_bytes()
    index = json.loads((done.shards / "index.json").read_text())
    assert index.pop("loss") == {"k": 3, "h": 4}
    without = json.loads((plain.shards / "index.json").read_text())
    for record in (index, without):  # tables name the files that were read, which are others
        record["shards"][0].pop("table_xxh3_128")
    assert index == without
    size = 20
    masks = [loader.open(folder).batch(0, size)["loss_mask"] for folder in (plain.shards, done.shards)]
    assert not (masks[1] & ~masks[0]).any()
    assert 0.63 < masks[1].sum() / masks[0].sum() < 0.72


def test_buckets_run_and_every_row_has_sequences_of_one_length(tmp_path, spec):
    done = made(tmp_path, {"pack/buckets": {"length": 64, "shortest": 8}}, {"tokenizer": spec})
    read = shards.open(done.shards)
    assert read.verify() == []
    assert read.index.packing == "buckets"
    packed = done.waterfall.packed
    assert packed["tokens"] + packed["padding"] == packed["rows"] * 64 == len(read)
    batch = loader.open(done.shards).batch(0, packed["rows"])
    for ids in batch["doc_ids"]:
        pieces = [len(list(piece)) for piece in np.split(ids, np.flatnonzero(np.diff(ids)) + 1) if piece[0] >= 0]
        assert max(pieces) <= 64
    widths = np.diff(np.flatnonzero(np.append(batch["position_ids"].reshape(-1) == 0, True)))
    assert widths.max() == 64
