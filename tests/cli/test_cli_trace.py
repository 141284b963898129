"""From a training step, or a token of a shard, back to its documents and files."""

import json

import numpy as np
import pytest

from corpusmill.loader import TokenLoader
from corpusmill.shards import open_shards
from made_run import made_run


@pytest.fixture(scope="module")
def run():
    return made_run()


def test_a_step_leads_to_its_documents(corpusmill, run):
    out = json.loads(
        corpusmill("trace", run, "--step", 1, "--batch", 2, "--rank", 1, "--world", 2, "--seed", 5, "--json")[1]
    )
    loader = TokenLoader(run / "output" / "shards", batch_size=2, rank=1, world=2, seed=5)
    batch = loader.at(1)
    traced = np.full(batch["doc_ids"].shape, -1)
    for piece in out["documents"]:
        traced[piece["row"], piece["start"] : piece["start"] + piece["length"]] = piece["document"]
        assert piece["about"]["file"].endswith(".jsonl")
    assert traced.tolist() == batch["doc_ids"].tolist()


def test_a_token_of_a_shard_leads_to_its_document(corpusmill, run):
    status, out, _ = corpusmill("trace", run / "output" / "shards", "--shard", 0, "--token", 7)
    assert status == 0
    assert out.startswith("document 0, starting at its token 7\n  id    ") and "⟦" in out


def test_a_row_leads_to_its_documents(corpusmill, run):
    shards = open_shards(run)
    for given in (["--row", 1], ["--row", 1, "--shard", 0]):
        out = json.loads(corpusmill("trace", run, *given, "--json")[1])
        length = shards.index.sequence_length
        spans = shards.spans(length, 2 * length)
        assert [(each["start"], each["document"]) for each in out["documents"]] == list(
            zip(spans.start.tolist(), spans.document.tolist())
        )


def test_what_cannot_be_traced_is_refused(corpusmill, run):
    status, _, err = corpusmill("trace", run)
    assert status == 2 and "give --step, or --shard with --token" in err
    status, _, err = corpusmill("trace", run, "--shard", 0, "--token", 10**9)
    assert status == 2 and "there is no token 1000000000 of shard 0; the folder has tokens 0 to" in err
    status, _, err = corpusmill("trace", run, "--shard", 9, "--token", 1)
    assert status == 2 and "the folder has shards 0 to 0" in err
