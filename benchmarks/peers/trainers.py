"""Do trainers' own loaders give what our loader gives? Each by its package, from a small run and its exports.

    make trainers              with DATA=DIR also the published counts of tinyshakespeare

runs this where the packages are (build/trainers). The truth is the native shards as `TokenLoader` reads them, and the
text that the run kept, encoded by the reference tokenizer. What has no package that installs (llm.c, modded-nanogpt,
nanochat, nanoGPT, the next torchtitan) is read by the description of its format in
tests/export/test_trainer_formats.py.
"""

import argparse
import gzip
import io
import json
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.peers.interop import EXTRA, truth_of
from corpusmill import Recipe, run
from corpusmill.export import export
from corpusmill.loader import RowSource, TokenLoader

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "trainers.md"
BLOCK = re.compile(r"^```(py|python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ROW = 128
RECIPE = """
name: trainers
read:
  - jsonl: {{paths: {extra}, source: extra}}
steps: [dedup/exact, tokenize/bpe: {{tokenizer: gpt2}}, pack/concat: {{length: {row}}}]
write:
  - shards: {{tokens_per_shard: 20000}}
  - parquet
"""
RESUMES = 50
VOCABULARY = 50_257
EOS = 50_256


class Made:
    """A run, and what is in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.run = run(Recipe.parse(RECIPE.format(extra=EXTRA, row=ROW)), folder=place / "run")
        self.shards = self.run.output / "shards"
        self.documents = truth_of(self.run.output, "concat").documents
        self.source = RowSource(self.shards)
        self.rows = [row["tokens"].tolist() for row in (self.source[n] for n in range(len(self.source)))]

    def loader(self, **settings: Any) -> TokenLoader:
        return TokenLoader(self.shards, **{"batch_size": 2, "seed": 7, "fields": ("tokens", "targets"), **settings})

    def whole(self, epochs: int) -> list[list[int]]:
        """The rows of one run that nothing interrupted."""
        return [row.tolist() for batch in self.loader(epochs=epochs) for row in batch["tokens"]]


def grain(made: Made) -> str:
    """Grain: its shuffle, its processes, its own resume."""
    import grain

    shuffled = grain.MapDataset.source(made.source).shuffle(seed=3).batch(4)
    rows = [row for batch in shuffled for row in batch["tokens"].tolist()]
    assert sorted(rows) == sorted(made.rows) and rows != made.rows
    ours = RowSource(made.shards, seed=7, samples=2 * len(made.rows), fields=("tokens",))
    threads = grain.ReadOptions(num_threads=4, prefetch_buffer_size=8)
    ordered = grain.MapDataset.source(ours).batch(2).to_iter_dataset(threads)
    wanted = made.whole(2)
    assert [row for batch in ordered for row in batch["tokens"].tolist()] == wanted[: 2 * len(wanted) // 2]
    batches, random = iter(ordered), Random(5)
    found: list[list[int]] = []
    while len(found) < len(wanted):
        state = batches.get_state()
        batches = iter(ordered)
        batches.set_state(state)
        found += [row for batch in islice(batches, random.randint(1, 9)) for row in batch["tokens"].tolist()]
    assert found == wanted
    sampler = grain.samplers.IndexSampler(len(ours), grain.sharding.ShardOptions(0, 1), shuffle=False, num_epochs=1)
    with_workers = grain.DataLoader(data_source=ours, sampler=sampler, worker_count=2)
    assert [row["tokens"].tolist() for row in with_workers] == wanted
    return f"{len(made.rows):,} rows, shuffled by it; {len(wanted):,} samples in our order, threads and processes"


def stateful(made: Made) -> str:
    """torchdata's StatefulDataLoader: fifty resumes in a row for each number of processes, over epochs."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    from corpusmill.loader.torch import TokenDataset

    epochs = 3
    wanted = made.whole(epochs)
    said = []
    for workers in (0, 1, 2, 4):
        random, state, resumed = Random(workers), None, 0
        found: list[list[int]] = []
        per_resume = max(1, len(wanted) // 5 // RESUMES)  # batches of two; so that the last ones are far from the end
        while len(found) < len(wanted):
            data = StatefulDataLoader(TokenDataset(made.loader(epochs=epochs)), batch_size=None, num_workers=workers)
            if state is not None:
                data.load_state_dict(pickle.loads(state))
                resumed += 1
            steps = random.randint(1, 2 * per_resume) if resumed < RESUMES else len(wanted)
            batches = iter(data)
            found += [row for batch in islice(batches, steps) for row in batch["tokens"].tolist()]
            state = pickle.dumps(data.state_dict())
            del batches
        assert found == wanted and resumed >= RESUMES, (workers, len(found), resumed)
        said.append(f"{workers}: {resumed}")
    return f"{len(wanted):,} samples over {epochs} epochs; resumes by processes {', '.join(said)}"


def dataloader(made: Made) -> str:
    """PyTorch's DataLoader: fifty resumes in a row, each with another number of processes and of ranks."""
    from torch.utils.data import DataLoader

    from corpusmill.loader.torch import TokenDataset

    wanted, random = made.whole(3), Random(8)
    found: list[list[int]] = []
    state = made.loader(epochs=3).state_dict()
    for _ in range(RESUMES):
        workers, world, steps = random.choice([0, 1, 2, 4]), random.choice([1, 2, 3]), random.randint(5, 45)
        of_rank = []
        for rank in range(world):
            loader = made.loader(epochs=3, rank=rank, world=world)
            loader.load_state_dict(state)
            data = TokenDataset(loader)
            of_rank.append(list(islice(DataLoader(data, batch_size=None, num_workers=workers), steps)))
        for batches in zip(*of_rank):
            found += [row for batch in batches for row in batch["tokens"].tolist()]
        state = data.state(min(map(len, of_rank)))
    assert state["samples"] == len(found) and found == wanted[: len(found)] and len(found) > len(made.rows)
    return f"{len(found):,} samples, {RESUMES} resumes with 0, 1, 2, 4 processes and 1, 2, 3 ranks"


def titan(made: Made) -> str:
    """torchtitan 0.3's ParallelAwareDataloader, saved and resumed as its checkpointer does."""
    from torchtitan.components.dataloader import ParallelAwareDataloader

    from corpusmill.loader.torch import TokenDataset

    def pair(batch: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        return {"input": batch["tokens"]}, batch["targets"]

    def data() -> Any:
        loaded = TokenDataset(made.loader(epochs=2, rank=1, world=2))
        return ParallelAwareDataloader(loaded, 1, 2, batch_size=None, num_workers=0, collate_fn=pair)

    wanted = [batch["tokens"].tolist() for batch in made.loader(epochs=2, rank=1, world=2)]
    first = data()
    found = [inputs["input"].tolist() for inputs, _ in islice(iter(first), 5)]
    second = data()
    second.load_state_dict(first.state_dict())
    found += [inputs["input"].tolist() for inputs, _ in second]
    assert found == wanted
    return f"{len(found)} batches of rank 1 of 2, resumed"


def olmo_instances(made: Made) -> str:
    """OLMo-core's ComposableDataLoader over our instance source."""
    from olmo_core.data import DataCollator, TokenizerConfig
    from olmo_core.data.composable import ComposableDataLoader

    from corpusmill.loader.olmo import Instances

    source = Instances(work_dir=made.place / "olmo", path=made.shards)
    loader = ComposableDataLoader(
        source,
        collator=DataCollator(pad_token_id=EOS),
        tokenizer=TokenizerConfig(VOCABULARY, EOS, EOS),
        work_dir=made.place / "olmo",
        global_batch_size=4 * ROW,
        seed=1,
        display_source_visualization=False,
    )
    loader.reshuffle(1)
    labels = {}
    for batch in loader:
        for ids, mask in zip(batch["input_ids"].tolist(), batch["label_mask"].tolist()):
            labels[tuple(ids)] = mask
    assert set(labels) <= set(map(tuple, made.rows)) and len(labels) >= len(made.rows) - 4
    # OLMo-core's labels are the ids moved by one, where the mask is True: so are our targets, but for a row's last.
    rows = RowSource(made.shards, fields=("tokens", "targets"))
    for number in range(len(rows)):
        row = rows[number]
        if (mask := labels.get(tuple(row["tokens"].tolist()))) is not None:
            shifted = [token if kept else -100 for token, kept in zip(row["tokens"].tolist()[1:], mask[1:])]
            assert shifted == row["targets"].tolist()[:-1]
    return f"{len(labels):,} instances, shuffled by it; its labels are our targets"


def olmo_documents(made: Made) -> str:
    """OLMo-core's NumpyDocumentSource over `export olmo`, by the array and by the table of documents."""
    from olmo_core.data import TokenizerConfig
    from olmo_core.data.composable import NumpyDocumentSource
    from olmo_core.data.utils import iter_document_indices, load_array_slice

    folder = export(made.run.folder, "olmo", made.place / "export-olmo", tokens_per_shard=20_000).folder
    paths = sorted(map(str, folder.glob("*.npy")))
    source = NumpyDocumentSource(
        source_paths=paths,
        dtype=np.uint16,
        work_dir=made.place / "olmo",
        tokenizer=TokenizerConfig(VOCABULARY, EOS, EOS),
    )
    assert source.num_tokens == sum(map(len, made.documents))
    offsets = list(source.get_document_offsets())
    found = [list(map(int, source.get_token_range(start, end)["input_ids"])) for start, end in offsets]
    assert found == made.documents
    by_table = []
    for path in paths:
        for start, end in iter_document_indices(path, use_array_if_local=False):
            by_table.append(load_array_slice(path, start, end, np.uint16).tolist())
    assert by_table == made.documents
    return f"{len(found):,} documents in {len(paths)} files, by the array and by the table"


def megatron(made: Made) -> str:
    """Megatron Core's GPTDataset over `export megatron`: the second time from the cache of its indexes."""
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig

    folder = export(made.run.folder, "megatron", made.place / "export-megatron").folder
    cache = made.place / "megatron-cache"
    config = GPTDatasetConfig(
        random_seed=1,
        sequence_length=ROW,
        blend=([str(folder / "00000")], None),
        split="1,0,0",
        path_to_cache=str(cache),
        tokenizer=_Gpt2(),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
    )
    stream = [token for document in made.documents for token in document]
    read = []
    for _ in range(2):
        train = BlendedMegatronDatasetBuilder(GPTDataset, [100, 0, 0], lambda: True, config).build()[0]
        read.append([train[number]["tokens"].tolist() for number in range(20)])
        written = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert read[0] == read[1] and written
    # Documents in another order, so a row is found in the text document by document.
    joined = " ".join(map(str, stream)) + " "
    pieces = [piece for row in read[0] for piece in _split(row)]
    assert all(" ".join(map(str, piece)) + " " in joined for piece in pieces)
    return f"{len(read[0])} samples twice, {len(written)} files in its cache"


def page(made: Made) -> str:
    """Every block of the page of the documentation, in order; a block of text is what the one before it prints."""
    names: dict[str, Any] = {"__name__": "page"}
    printed, ran = "", 0
    with chdir(made.place):
        for folder in ("demo", "other"):
            shutil.copytree(made.run.folder, Path("runs") / folder)
        for kind, block in re.findall(
            r"^```(py|python|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            if kind == "text":
                assert block == printed.replace(f"({ROW},)", "(1024,)"), (block, printed)
                continue
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(block, str(PAGE), "exec"), names)
            printed, ran = out.getvalue(), ran + 1
    return f"{ran} blocks of {PAGE.name}"


class _Gpt2:
    """What GPTDataset asks of a tokenizer."""

    eod, pad, vocab_size = EOS, EOS, VOCABULARY
    unique_identifiers = {"class": "gpt2"}  # noqa: RUF012


def _split(row: list[int]) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for token in row:
        parts[-1].append(token)
        if token == EOS:
            parts.append([])
    return [part for part in parts if part]


TRAINERS: dict[str, tuple[str, Callable[[Made], str]]] = {
    "grain": ("grain", grain),
    "stateful": ("torchdata", stateful),
    "dataloader": ("torch", dataloader),
    "torchtitan": ("torchtitan", titan),
    "olmo instances": ("ai2-olmo-core", olmo_instances),
    "olmo documents": ("ai2-olmo-core", olmo_documents),
    "megatron cache": ("megatron-core", megatron),
    "documentation": ("corpusmill", page),
}


def shakespeare(data: Path, place: Path) -> list[tuple[str, bool]]:
    """The published counts of nanoGPT's and llm.c's preparations of tinyshakespeare, through our recipe and export."""
    with gzip.open(data / "text" / "tinyshakespeare.txt.gz", "rt", encoding="utf-8", newline="") as file:
        text = file.read()
    cut = int(len(text) * 0.9)  # nanoGPT, data/shakespeare/prepare.py: the first nine tenths of the characters
    parts = text.split("\n\n")  # llm.c, dev/data/tinyshakespeare.py: documents, each with the blank line after it
    texts = {
        "train": [text[:cut]],
        "val": [text[cut:]],
        "sections": [part + "\n\n" for part in parts[:-1]] + parts[-1:],
    }
    lines = []
    for name, documents in texts.items():
        (place / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in documents), "utf-8")
        recipe = f"name: {name}\nread: [jsonl: {place}/{name}.jsonl]\nsteps: [tokenize/bpe: {{tokenizer: gpt2}}]\n"
        done = run(Recipe.parse(recipe + "write: [shards]\nrun: {executor: serial}\n"), folder=place / name)
        if name == "sections":
            folder = export(done.folder, "llmc", place / "llmc", val_tokens=32_768).folder
            for split, tokens, size in (("val", 32_768, 66_560), ("train", 305_260, 611_544)):
                path = folder / f"{split}_000000.bin"
                count = int(np.fromfile(path, np.int32, 3)[2])
                same = (count, path.stat().st_size) == (tokens, size)
                lines.append(
                    (f"llm.c {split}: {count:,} tokens, {path.stat().st_size:,} bytes ({tokens:,}, {size:,})", same)
                )
        else:
            wanted = {"train": 301_966, "val": 36_059}[name]
            made = export(done.folder, "nanogpt", place / f"nanogpt-{name}", val_fraction=0, eos=False)
            same = made.tokens == wanted and made.bytes == 2 * wanted
            lines.append((f"nanoGPT {name}: {made.tokens:,} tokens ({wanted:,})", same))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with text/tinyshakespeare.txt.gz")
    parser.add_argument("--only", help="one of " + ", ".join(TRAINERS))
    chosen = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        made = Made(Path(work))
        for name, (package, read) in TRAINERS.items():
            if chosen.only not in (None, name):
                continue
            try:
                line = f"the same: {read(made)}"
            except ImportError as error:
                line, failed = f"NOT RUN: {error}", failed + 1
            except AssertionError as error:
                line, failed = f"DIFFERS {error}", failed + 1
            print(f"{name:<15} {package} {version(package)}: {line}", flush=True)
        if chosen.data:
            for line, same in shakespeare(chosen.data, Path(work)):
                failed += not same
                print(f"published       {line}: {'equal' if same else 'DIFFERS'}", flush=True)
        else:
            print("published       counts of tinyshakespeare: not run, they need DATA=DIR")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
