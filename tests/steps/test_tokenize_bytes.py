"""Bytes as tokens."""

import gzip
import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill import assets
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.steps.tokenize.bytes import Bytes

END = 256


@given(st.lists(st.text(), max_size=4))
def test_ids_are_the_bytes_of_utf8(texts):
    wanted = [text.encode("utf-8", "surrogatepass") for text in texts]
    ids, lengths = Bytes().encode(pa.array(texts, pa.large_string()))
    assert ids.tolist() == [i for text in wanted for i in (*text, END)]
    assert lengths.tolist() == [len(text) + 1 for text in wanted]
    assert Bytes().count(pa.array(texts, pa.large_string())).tolist() == [len(text) for text in wanted]


def test_what_looks_like_a_control_token_is_text():
    ids, _ = Bytes().encode(pa.array(["<|endoftext|>"]))
    assert ids.tolist() == [*b"<|endoftext|>", END]


def test_another_library_reads_its_definition():
    from tokenizers import Tokenizer

    text = gzip.decompress(assets.locate("bytes").read_bytes()).decode()
    theirs = Tokenizer.from_str(text)
    assert theirs.encode("naïve 日本", add_special_tokens=False).ids == [*"naïve 日本".encode()]
    assert theirs.decode([*"naïve 日本".encode()]) == "naïve 日本"
    assert load("bytes").vocab_size == 257


def test_a_run_gives_rows_of_bytes(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "né"}) + "\n")
    recipe = f"read: [{{jsonl: {{paths: {tmp_path}/a.jsonl}}}}]\nsteps: [tokenize/bytes, pack/concat: {{length: 8}}]\n"
    (tmp_path / "r.yaml").write_text(recipe + "write: shards\n")
    corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", progress=False, workers=1)
    assert open_shards(tmp_path / "run/output/shards").tokens(0, 4).tolist() == [*"né".encode(), END]
