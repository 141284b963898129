"""A trained tokenizer depends on the texts alone, is judged by texts it has not seen, and works in a recipe."""

import json
import os
import shutil
import subprocess
import sys
from random import Random

import pyarrow as pa
import pytest

from corpusmill import run
from corpusmill.errors import InputError
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.train.tokenizer import TokenizerSettings, rates, texts_of, train
from made_run import made_run, prose

SETTINGS = TokenizerSettings(vocab_size=400, held_out=0.1)


def made_texts(count=80):
    random = Random(3)
    return [f"{prose(random, 30)} Costs {random.randrange(10**6)} €." for _ in range(count)]


def batches(texts, size):
    return [pa.array(texts[i : i + size], pa.large_string()) for i in range(0, len(texts), size)]


def test_the_same_texts_give_the_same_file_in_any_order(tmp_path):
    texts = made_texts()
    first = train(batches(texts, 7), SETTINGS, tmp_path / "a.json")
    second = train(batches(texts[::-1], 80), SETTINGS, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert sorted(first.held) == sorted(second.held)
    assert 0 < len(first.held) < 30 and first.documents == 80
    assert first.bytes == sum(len(text.encode()) for text in texts)


def test_another_process_with_other_threads_and_hashes_writes_the_same_file(tmp_path):
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; from test_train_tokenizer import *; from pathlib import Path; "
        "train(batches(made_texts(), 7), SETTINGS, Path(sys.argv[1]))"
    )
    train(batches(made_texts(), 7), SETTINGS, tmp_path / "here.json")
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "there.json", *sys.path], check=True, env=environment)
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_held_out_texts_are_not_learned_from(tmp_path):
    texts = made_texts()
    seen = train(batches(texts, 80), SETTINGS, tmp_path / "a.json")
    learned = [text for text in texts if text not in seen.held]
    only = TokenizerSettings(vocab_size=400, held_out=1e-9)
    assert train(batches(learned, 80), only, tmp_path / "b.json").held == []
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
def test_it_loads_with_the_fast_engine_and_decodes_what_it_encodes(tmp_path, pattern):
    out = tmp_path / "t.json"
    settings = TokenizerSettings(vocab_size=330, special=("<end>", "<pad>"), pattern=pattern)
    seen = train(batches(made_texts(), 80), settings, out)
    tokenizer = load(out, eos="<end>")
    assert (tokenizer.engine.name, tokenizer.vocab_size, tokenizer.eos_id) == ("gigatoken", 330, 0)
    for engine in ("tokenizers", "tiktoken"):
        assert load(out, engine, eos="<end>").encode(pa.array(["the 1234 <pad> é"]))[0].tolist() == (
            tokenizer.encode(pa.array(["the 1234 <pad> é"]))[0].tolist()
        )
    text = "the river 日本 <end> 👩‍🚀\n"
    assert tokenizer.decode(tokenizer.encode(pa.array([text]))[0].tolist()) == text
    rated = rates(out, settings, seen.held or ["the river"])
    assert set(rated) == {"t.json", "gpt2"}
    assert rated["gpt2"].tokens == int(load("gpt2").count(pa.array(seen.held or ["the river"])).sum())


def test_frequent_words_become_tokens(tmp_path):
    train(batches(made_texts(), 80), SETTINGS, tmp_path / "t.json")
    assert len(load(tmp_path / "t.json").encode(pa.array([" the the"]))[0]) == 2


def test_there_must_be_room_for_all_bytes_and_text_to_learn_from(tmp_path):
    with pytest.raises(InputError, match=r"vocab_size must be 258 or more \(256 bytes and 2 special tokens\)"):
        TokenizerSettings(vocab_size=257, special=("<a>", "<b>"))
    with pytest.raises(InputError, match="one special token or more, distinct"):
        TokenizerSettings(vocab_size=400, special=("<a>", "<a>"))
    with pytest.raises(InputError, match="no texts to train on"):
        train([], SETTINGS, tmp_path / "t.json")


def test_a_run_may_be_given_by_a_path_from_the_working_directory(tmp_path, monkeypatch):
    shutil.copytree(made_run(), tmp_path / "runs" / "made")
    monkeypatch.chdir(tmp_path)
    near, far = (
        [text for batch in texts_of([run]) for text in batch.to_pylist()] for run in ("runs/made", str(made_run()))
    )
    assert near == far != []


def test_the_texts_of_a_run_are_the_documents_that_stay(tmp_path):
    run = made_run()
    stay = [text for batch in texts_of([str(run)]) for text in batch.to_pylist()]
    flow = json.loads((run / "waterfall.json").read_text())
    assert len(stay) == flow["steps"][-1]["documents_out"]
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"text": "one more"}) + "\n")
    both = [text for batch in texts_of([str(run), str(more)]) for text in batch.to_pylist()]
    assert both == [*stay, "one more"]


def test_the_verb_trains_on_a_run_and_the_file_works_in_a_recipe(corpusmill, tmp_path):
    out = tmp_path / "t.json"
    command = ("train", "tokenizer", made_run(), "--vocab-size", 300, "--out", out, "--held-out", 0.2)
    said = []
    for flags in ([], ["--json"]):
        status, printed, _ = corpusmill(*command, *flags)
        assert status == 0
        said.append(printed)
    assert "tokens/character" in said[0] and f"tokenize/bpe: {{tokenizer: {out}}}" in said[0]
    record = json.loads(said[1])
    assert record["vocabulary"] == 300
    assert record["rates"]["t.json"]["tokens"] > record["rates"]["gpt2"]["tokens"] > 0
    lines = [json.dumps({"text": text}) for text in made_texts(5)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    recipe = {
        "name": "own",
        "read": [{"jsonl": {"paths": str(tmp_path / "in.jsonl")}}],
        "steps": [{"tokenize/bpe": {"tokenizer": str(out)}}, {"pack/concat": {"length": 32}}],
        "write": ["shards"],
    }
    (tmp_path / "own.yaml").write_text(json.dumps(recipe))
    done = run(tmp_path / "own.yaml", folder=tmp_path / "run", executor=Serial())
    index = json.loads((done.shards / "index.json").read_text())
    assert (index["vocabulary"], index["eos_id"], index["dtype"]) == (300, 0, "uint16")
