"""Rows in Parquet go from `datasets` into a DataLoader with PyTorch's default collate, and nothing in between."""

import json
from random import Random

import pytest

from corpusmill import Recipe, loader, run
from corpusmill.execute.serial import Serial
from made_run import prose

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_a_data_loader_takes_the_rows_as_they_are(tmp_path, packing):
    random = Random(1)
    texts = [prose(random, random.choice([5, 60, 300])) for _ in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    recipe = f"""
read: [jsonl: {tmp_path}/a.jsonl]
steps: [tokenize/bpe, pack/{packing}: {{length: 64}}]
write: [shards, parquet_tokens: {{columns: [input_ids, labels, position_ids], single_file: true, name: all}}]
"""
    done = run(Recipe.parse(recipe), folder=tmp_path / "run", executor=Serial())
    file = str(done.output / "parquet_tokens" / "all.parquet")
    data = datasets.load_dataset("parquet", data_files=file, split="train", streaming=True, cache_dir=str(tmp_path))
    batches = list(torch.utils.data.DataLoader(data.with_format("torch"), batch_size=8))
    assert all(batch[name].dtype == torch.int64 for batch in batches for name in batch)
    found = {name: torch.cat([batch[name] for batch in batches]).numpy() for name in batches[0]}
    want = loader.open(done.shards).batch(0, 10_000)
    assert (found["input_ids"] == want["tokens"]).all()
    padding = want["doc_ids"] == -1
    assert padding.any() and (found["labels"][padding] == -100).all()
    assert (found["labels"][~padding] == want["tokens"][~padding]).all()
