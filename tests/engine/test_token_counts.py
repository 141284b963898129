"""Tokens are counted once for each version of a text."""

import json

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.models.tokenizer import load
from corpusmill.recipe import Recipe
from corpusmill.report.tables import RunTables
from corpusmill.steps.tokenize.bpe import Bpe

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
