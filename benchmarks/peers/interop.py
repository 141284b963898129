"""Do the readers that trainers use read what we write? Each by its own library, against ids that we did not write.

    make interop

runs this where those libraries are (build/interop). A small run writes every format, and an export of its shards writes
them again. The truth is made anew: the text that the run kept, encoded by the reference tokenizer. A reader whose
library is not there is named and fails the check too, as nothing is known of it then.
"""

import importlib
import json
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill import Recipe, Run, push, run
from corpusmill.assets import demo_path
from corpusmill.export import export
from corpusmill.models.tokenizer import load
from corpusmill.ops.verify import verify_folder

ROW = 256
PIECES = ("documents", "lengths", "offsets")
EXTRA = demo_path("demo://extra.jsonl.gz")
RECIPE = """
name: interop
read:
  - jsonl: {{paths: {extra}, source: extra}}
steps: [dedup/exact, tokenize/bpe: {{tokenizer: gpt2}}, pack/{packing}: {{length: {row}}}]
write:
  - shards: {{tokens_per_shard: 100000}}
  - megatron: {{tokens_per_shard: 100000}}
  - parquet_tokens: {{tokens_per_shard: 100000}}
  - parquet_tokens: {{columns: [input_ids, labels, attention_mask], tokens_per_shard: 100000}}
  - mds: {{tokens_per_shard: 100000}}
  - litdata: {{tokens_per_shard: 100000}}
  - parquet
  - jsonl
run: {{executor: serial}}
"""


@dataclass(frozen=True)
class Truth:
    """Token ids of every document with EOS, and the rows of the native shards, which nanoGPT's way reads."""

    documents: list[list[int]]
    rows: list[list[int]]
    packing: str


Reader = Callable[[Path, Truth], str]  # the folder of a format -> what was compared; AssertionError if it differs


def nanogpt(folder: Path, truth: Truth) -> str:
    """np.memmap, as train.py of nanoGPT does."""
    tokens = np.memmap(folder / "train.bin", np.uint16, "r").tolist()
    assert tokens == [token for document in truth.documents for token in document]
    return f"{len(tokens):,} tokens"


def megatron(folder: Path, truth: Truth) -> str:
    """Megatron Core's IndexedDataset, mapped and not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from megatron.core.datasets.indexed_dataset import IndexedDataset
    prefixes = [str(path.with_suffix("")) for path in sorted(folder.glob("*.idx"))]
    for mapped in (True, False):
        documents = []
        for prefix in prefixes:
            data = IndexedDataset(prefix, mmap=mapped)
            assert data.document_indices.tolist() == list(range(len(data) + 1))
            documents += [data[i].tolist() for i in range(len(data))]
        assert documents == truth.documents
    return f"{len(truth.documents):,} documents in {len(prefixes)} files"


def datasets(folder: Path, truth: Truth) -> str:
    """Hugging Face datasets, streaming: by the folder, and by the names of the files."""
    from datasets import load_dataset

    ways = [
        load_dataset(str(folder), split="train", streaming=True),
        load_dataset("parquet", data_files=str(folder / "*.parquet"), split="train", streaming=True),
    ]
    for data in ways:
        rows = list(data)
        assert [row["input_ids"] for row in rows] == truth.rows
        check_pieces((tuple(row[name] for name in ("input_ids", *PIECES)) for row in rows), truth)
    return f"{len(truth.rows):,} rows and their documents"


def torch_loader(folder: Path, truth: Truth) -> str:
    """Hugging Face datasets, streaming, and PyTorch's DataLoader with its default collate: nothing else."""
    import torch
    from datasets import load_dataset
    from torch.utils.data import DataLoader

    files = str(folder / "*.parquet")
    data = load_dataset("parquet", data_files=files, split="train", streaming=True).with_format("torch")
    rows: list[list[int]] = []
    for batch in DataLoader(data, batch_size=8):
        for name in ("input_ids", "labels", "attention_mask"):
            assert batch[name].dtype == torch.int64 and batch[name].shape[1:] == (ROW,), name
        is_text = batch["attention_mask"].bool()
        assert torch.equal(batch["labels"], torch.where(is_text, batch["input_ids"], -100))
        rows += batch["input_ids"].tolist()
    assert rows == truth.rows
    return f"{len(rows):,} rows as tensors"


def mds(folder: Path, truth: Truth) -> str:
    """MosaicML Streaming, with its own check of hashes."""
    without_images()
    from streaming import StreamingDataset

    data = StreamingDataset(local=str(folder), shuffle=False, batch_size=1, validate_hash="sha256")
    rows = [data[i] for i in range(len(data))]
    assert [row["tokens"].tolist() for row in rows] == truth.rows
    check_pieces((tuple(row[name].tolist() for name in ("tokens", *PIECES)) for row in rows), truth)
    return f"{len(rows):,} rows and their documents"


def litdata(folder: Path, truth: Truth) -> str:
    """LitData's StreamingDataset with its TokensLoader."""
    from litdata import StreamingDataset
    from litdata.streaming.item_loader import TokensLoader

    data = StreamingDataset(str(folder), item_loader=TokensLoader(block_size=ROW), shuffle=False)
    rows = [row.tolist() for row in data]
    assert rows == [row for row in truth.rows if len(row) == ROW]
    return f"{len(rows):,} rows"


def pushed(done: Run, truth: Truth) -> str:
    """Hugging Face datasets, a folder as it is pushed to the Hub: every configuration that its card names."""
    from datasets import get_dataset_config_names, load_dataset

    folder = str(push(done, "hf://datasets/me/made", dry_run=True).folder)
    names = get_dataset_config_names(folder)
    assert names == ["default", "parquet_tokens", "parquet_tokens_2"], names
    read = {name: load_dataset(folder, name, split="train", streaming=True) for name in names}
    assert [row["text"] for row in read["default"]] == texts(done.output)
    assert [row["input_ids"] for row in read["parquet_tokens"]] == truth.rows
    return f"{len(truth.documents):,} documents and {len(truth.rows):,} rows, in {len(names)} configurations"


def lines(done: Run, truth: Truth) -> str:
    """Hugging Face datasets, JSON Lines by a pattern for all files of the folder, and by the folder."""
    from datasets import load_dataset

    folder = done.output / "jsonl"
    for how in ({"data_files": f"{folder}/*"}, {"data_dir": str(folder)}):
        rows = list(load_dataset("json", split="train", streaming=True, **how))
        assert [row["text"] for row in rows] == texts(done.output)
        assert [row["token_count"] + 1 for row in rows] == [len(tokens) for tokens in truth.documents]
    return f"{len(rows):,} documents"


OTHERS = {"hub folder": pushed, "jsonl/*": lines}  # of a whole run
READERS: dict[
    str, tuple[str, str, Reader]
] = {  # format -> its reader's distribution, the folder's name, how it is read
    "nanogpt": ("numpy", "nanogpt", nanogpt),
    "megatron": ("megatron-core", "megatron", megatron),
    "parquet_tokens": ("datasets", "parquet_tokens", datasets),
    "parquet_tokens_2": ("torch", "parquet_tokens_2", torch_loader),
    "mds": ("mosaicml-streaming", "mds", mds),
    "litdata": ("litdata", "litdata", litdata),
}


def check_pieces(rows: Iterable[tuple[list[int], ...]], truth: Truth) -> None:
    """The pieces of documents that rows name make up the documents."""
    pieces: dict[int, list[tuple[int, list[int]]]] = {}
    for tokens, documents, lengths, offsets in rows:
        edges = np.cumsum([0, *lengths]).tolist()
        for document, offset, (a, b) in zip(documents, offsets, pairwise(edges), strict=True):
            pieces.setdefault(document, []).append((offset, tokens[a:b]))
    whole = [[token for _, piece in sorted(pieces[number]) for token in piece] for number in sorted(pieces)]
    assert whole == truth.documents


def without_images() -> None:
    """Let `streaming` be imported where torchvision does not work with this build of PyTorch: it is for images only."""
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name, members in {
            "torchvision": [],
            "torchvision.datasets": ["VisionDataset"],
            "torchvision.transforms": [],
            "torchvision.transforms.functional": ["to_tensor"],
        }.items():
            module = types.ModuleType(name)
            module.__spec__ = ModuleSpec(name, None, is_package=True)
            module.__path__ = []
            for member in members:
                setattr(module, member, object)
            sys.modules[name] = module


def main() -> int:
    without_images()
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for packing in ("concat", "best_fit"):
            folder = Path(work) / packing
            recipe = Recipe.parse(RECIPE.format(extra=EXTRA, packing=packing, row=ROW))
            done = run(recipe, folder=folder / "run")
            truth = truth_of(done.output, packing)
            for format, (library, name, read) in READERS.items():
                exported = export(
                    done.folder, format.removesuffix("_2"), folder / "export" / name, **settings(format)
                ).folder
                written = [exported] if format == "nanogpt" else [done.output / name, exported]
                try:
                    said = {read(place, truth) for place in written}
                    assert len({contents(place) for place in written}) == 1, "export and run differ"
                    for place in written:
                        assert not verify_folder(place).problems
                    damage_is_told(exported)
                    line = f"the same: {said.pop()}"
                except ImportError as error:
                    line, failed = f"NOT RUN: {error}", failed + 1
                except AssertionError as error:
                    line, failed = f"DIFFERS {error}", failed + 1
                print(f"{packing:<9} {format:<15} {library} {version(library)}: {line}", flush=True)
            for name, compare in OTHERS.items():
                try:
                    line = f"the same: {compare(done, truth)}"
                except (ImportError, AssertionError) as error:
                    line, failed = f"DIFFERS {error}", failed + 1
                print(f"{packing:<9} {name:<15} datasets {version('datasets')}: {line}", flush=True)
    return 1 if failed else 0


def settings(format: str) -> dict[str, Any]:
    if format == "parquet_tokens_2":
        return {"columns": ["input_ids", "labels", "attention_mask"]}
    return (
        {"val_fraction": 0.0} if format == "nanogpt" else {"tokens_per_shard": 100_000} if format == "megatron" else {}
    )


def truth_of(output: Path, packing: str) -> Truth:
    reference = load("gpt2", engine="tokenizers")
    ids, offsets = reference.encode(pa.array(texts(output), pa.large_string()))
    documents = [document.tolist() for document in np.split(ids, offsets[1:-1])]
    documents = [[*document, reference.eos_id] for document in documents]
    rows: list[list[int]] = []
    for path in sorted((output / "shards").glob("*.bin")):
        tokens = np.fromfile(path, "<u2")
        rows += [row.tolist() for row in np.split(tokens, range(ROW, len(tokens), ROW))]
    if packing == "concat":
        stream = [token for document in documents for token in document]
        assert [token for row in rows for token in row][: len(stream)] == stream
    return Truth(documents, rows, packing)


def texts(output: Path) -> list[str]:
    """The text that the run kept, read with PyArrow."""
    tables = [pq.read_table(path, columns=["text"]) for path in sorted((output / "parquet").glob("*.parquet"))]
    return [text for table in tables for text in table["text"].to_pylist()]


def contents(folder: Path) -> str:
    return (folder / ".SHA256SUMS").read_text()


def damage_is_told(folder: Path) -> None:
    """A file that was cut, and one that was changed, are named."""
    path = next(path for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".mds", ".parquet"))
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]):
        path.write_bytes(damaged)
        problems = verify_folder(folder).problems
        assert len(problems) == 1 and path.name in problems[0], problems
    path.write_bytes(whole)


if __name__ == "__main__":
    print(json.dumps({"python": sys.version.split()[0], "torch": version("torch")}))
    sys.exit(main())
