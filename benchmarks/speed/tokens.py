"""Tokenising to shards: the whole stage beside the bare engine, and beside `map` of Hugging Face datasets.

--peer names the python of an environment with datasets and tokenizers.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import orjson
import pyarrow as pa

from benchmarks import samples
from benchmarks.common import Figure, Workload, row, table
from corpusmill.memory import keep_memory
from corpusmill.models.tokenizer import clean, load
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.steps.tokenize.bpe import Bpe

LENGTH, PER_SHARD = 2048, 100_000_000
SHARE, MAP = 0.8, 8.0  # of the bare engine's speed; times that of datasets.map with two processes
BATCH = 2048  # documents that a run tokenises at a time
TOKENIZER = "gpt2"

# Two processes, as many as this machine has cores; `tokenizers` makes no threads in them.
PEER = """
import json, sys, time
from datasets import load_dataset
from tokenizers import Tokenizer
if __name__ == "__main__":
    texts, tokenizer, cache = sys.argv[1:]
    fast = Tokenizer.from_file(tokenizer)
    data = load_dataset("json", data_files=texts, split="train", cache_dir=cache)
    def encode(batch):
        return {"ids": [e.ids for e in fast.encode_batch(batch["text"], add_special_tokens=False)]}
    start = time.perf_counter()
    data.map(encode, batched=True, num_proc=2, remove_columns=data.column_names, load_from_cache_file=False)
    print(json.dumps(time.perf_counter() - start))
"""


def run(workload: Workload, runs: int, scratch: Path, peer: Path | None = None) -> list[Figure]:
    scratch.mkdir(parents=True, exist_ok=True)
    keep_memory()  # as workers do
    runs *= 5  # of a third of a second
    sample = samples.all_kinds(workload)
    texts = pa.concat_arrays([batch["text"].cast(pa.large_string()) for batch in sample.batches])
    parts = [texts.slice(first, BATCH) for first in range(0, len(texts), BATCH)]
    step = Bpe()
    engine = load(TOKENIZER).engine
    cleaned = [clean(part) for part in parts]
    print(f"## tokens: {sample}; one thread, median of {runs}\n")

    def bare() -> None:
        for part in cleaned:
            engine.encode(part)

    def whole() -> None:
        units = [UnitTokens(*step.encode(part)) for part in parts]
        folder = scratch / f"shards-{time.monotonic_ns()}"
        plan = plan_shards([unit.lengths for unit in units], "concat", LENGTH, PER_SHARD)
        write_folder(folder, plan, units, load(TOKENIZER))

    def clear() -> None:
        for folder in scratch.glob("shards-*"):
            shutil.rmtree(folder)

    alone, all_of_it = together((bare, whole), runs, clear)
    table("GPT-2", "MB / CPU s")
    row(f"{engine.name} alone", f"{sample.size / alone:,.0f}")
    row("tokenise, pack with concat, write shards", f"{sample.size / all_of_it:,.0f}")
    figures = [Figure("tokens: tokenise, pack and write, of the bare engine's speed", alone / all_of_it, "", SHARE)]
    if peer:
        seconds = of_map(peer, sample.texts, scratch)
        row("`datasets.map`, 2 processes, wall", f"{sample.size / seconds:,.1f}")
        figures.append(Figure("tokens: times the speed of datasets.map", seconds / all_of_it, "", MAP, digits=1))
    print()
    return figures


def together(works: tuple[Callable[[], None], ...], runs: int, clear: Callable[[], None]) -> list[float]:
    """CPU seconds of this process for each, median; taken in turn, so that a busy machine slows all alike.

    clear   removes what they wrote; not counted
    """
    times: list[list[float]] = [[] for _ in works]
    for number in range(runs + 1):
        for work, seconds in zip(works, times):
            start = time.process_time()
            work()
            if number:
                seconds.append(time.process_time() - start)
            clear()
    return [median(seconds) for seconds in times]


def of_map(python: Path, texts: list[str], scratch: Path) -> float:
    """Wall seconds of the map alone, with the tokenizer in the library's own file format."""
    script, lines, tokenizer = scratch / "map.py", scratch / "texts.jsonl", scratch / "tokenizer.json"
    script.write_text(PEER, "utf-8")
    lines.write_bytes(b"\n".join(orjson.dumps({"text": text}) for text in texts) + b"\n")
    tokenizer.write_text(json.dumps(load(TOKENIZER).definition.json), "utf-8")
    done = subprocess.run(
        [str(python), str(script), str(lines), str(tokenizer), str(scratch / "cache")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TOKENIZERS_PARALLELISM": "false"},
    )
    return float(json.loads(done.stdout.strip().splitlines()[-1]))
