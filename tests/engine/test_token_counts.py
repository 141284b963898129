"""Tokens are counted once for each version of a text, and estimated of what is dropped."""

import json

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.work.token_files import ids_of
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.recipe import Recipe
from corpusmill.report.tables import RunTables
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.tokens.estimate import MIDDLE

STEPS = """
  - clean/normalize
  - dedup/exact
  - dedup/line: {min_characters: 5}
  - clean/urls: {replacement: (a link)}
  - tokenize/bpe: {tokenizer: gpt2}
"""


def test_a_later_pass_counts_what_it_changes_and_no_more(tmp_path, monkeypatch):
    counted = []
    count = Bpe.count

    def counting(self, texts):
        counted.append(len(texts))
        return count(self, texts)

    monkeypatch.setattr(Bpe, "count", counting)
    texts = [
        f"The mill of {name} stood here. Shared line of text\nits own line {name} www.{name}.example" for name in "abcd"
    ]
    texts += ["nothing of it changes"]
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    recipe = Recipe.parse(f"read: {{jsonl: {documents}}}\nsteps:{STEPS}write: [jsonl]\n")
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    tables = RunTables(done.place)
    tokenizer = load("gpt2")
    for number in range(len(tables.passes)):
        for docs in tables.files.documents("docs", number, ["text", "tokens"], 100):
            assert docs["tokens"].to_pylist() == tokenizer.count(docs["text"]).tolist()
    assert sum(counted) < len(texts) * len(tables.passes)


def test_tokens_of_dropped_documents_are_estimated_and_a_sample_says_how_well(tmp_path):
    """Long ones by a part of the text, but for one in 64, which the facts compare; kept ones are counted."""
    documents = tmp_path / "docs.jsonl"
    sentence = "The mill of {} grinds rye and wheat by the river {}. "
    texts = ["".join(sentence.format(n, at) for at in range(3 + 40 * (n % 3))) for n in range(600)]
    documents.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    steps = "[{filter/basic: {max_characters: 2000}}, {tokenize/bpe: {tokenizer: gpt2}}]"
    recipe = Recipe.parse(f"read: {{jsonl: {documents}}}\nsteps: {steps}\nwrite: [jsonl]\n")
    tables = RunTables(corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial()).place)
    batches = tables.files.documents("signals", 0, ["tokens", "dropped_by", "id"], 1000)
    signals = [row for batch in batches for row in batch.to_pylist()]
    exact = load("gpt2").count(pa.array(texts, pa.large_string()))
    long = [row for row, text in zip(signals, texts) if row["dropped_by"] and len(text) > 2 * MIDDLE]
    checked = [row for row in long if row["id"] < "04"]
    for row, tokens in zip(signals, exact.tolist()):
        if row["dropped_by"] is None or row["id"] < "04":
            assert row["tokens"] == tokens
        else:
            assert abs(row["tokens"] / tokens - 1) < 0.2
    facts = tables.files.facts("pass-1")["estimated"]
    assert facts["documents"] == len(checked) > 0
    assert facts["tokens"] == sum(row["tokens"] for row in checked)
    assert abs(facts["estimate"] / facts["tokens"] - 1) < 0.05


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans())))
def test_the_ids_of_some_documents(documents):
    lengths = np.array([length for length, _ in documents], np.int64)
    rows = np.flatnonzero([chosen for _, chosen in documents])
    ids = np.arange(lengths.sum(), dtype=np.uint16)
    ends = np.cumsum(lengths)
    expected = [id for row in rows for id in ids[ends[row] - lengths[row] : ends[row]]]
    chosen = ids_of(ids, lengths, rows)
    assert chosen.dtype == ids.dtype and chosen.tolist() == expected
