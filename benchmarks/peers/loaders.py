"""Run by benchmarks/speed/loader.py in an environment of the peers: tokens per CPU second of one of their loaders, as
JSON.

    python loaders.py WHICH TOKENS FOLDER LENGTH BATCH READ

TOKENS is a flat file of uint16 ids. The peer's own library writes them to FOLDER in rows of LENGTH, in its own format,
and then gives READ tokens in shuffled batches of int64, `tokens` and nothing else. CPU seconds are those of the process
and all its threads; the peers are run without worker processes.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # run by its name, in another environment
from benchmarks.peers.interop import without_images


def streaming(rows: np.ndarray, folder: Path, batch: int) -> Iterator[np.ndarray]:
    from streaming import MDSWriter, StreamingDataset

    with MDSWriter(out=str(folder), columns={"tokens": f"ndarray:uint16:{rows.shape[1]}"}) as out:
        for row in rows:
            out.write({"tokens": row})
    data = iter(StreamingDataset(local=str(folder), shuffle=True, batch_size=batch))
    while samples := list(islice(data, batch)):
        yield np.stack([sample["tokens"] for sample in samples]).astype(np.int64)


def litdata(rows: np.ndarray, folder: Path, batch: int) -> Iterator[np.ndarray]:
    import torch
    from litdata import StreamingDataset
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    length = rows.shape[1]  # written as its `optimize` does in each worker
    writer = BinaryWriter(str(folder), chunk_size=1000 * length, item_loader=TokensLoader(length))
    for number, row in enumerate(rows):
        writer.add_item(number, torch.from_numpy(row))
    writer.done()
    writer.merge()
    data = iter(StreamingDataset(str(folder), item_loader=TokensLoader(length), shuffle=True))
    while samples := list(islice(data, batch)):
        yield torch.stack(samples).long().numpy()


def datasets(rows: np.ndarray, folder: Path, batch: int) -> Iterator[np.ndarray]:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import load_dataset

    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"tokens": column.cast(pa.list_(pa.uint16()))}), folder / "0.parquet", row_group_size=512)
    data = load_dataset("parquet", data_files=str(folder / "0.parquet"), split="train", streaming=True)
    for part in data.shuffle(seed=1, buffer_size=1000).with_format("numpy").iter(batch_size=batch):
        yield np.stack(part["tokens"]).astype(np.int64)


WHICH: dict[str, tuple[str, Callable[[np.ndarray, Path, int], Iterator[np.ndarray]]]] = {
    "streaming": ("mosaicml-streaming", streaming),
    "litdata": ("litdata", litdata),
    "datasets": ("datasets", datasets),
}


def main() -> None:
    without_images()
    which, tokens, folder, length, batch, read = sys.argv[1:]
    name, made = WHICH[which]
    ids = np.fromfile(tokens, np.uint16, 2 * int(read))
    rows = ids[: len(ids) // int(length) * int(length)].reshape(-1, int(length))
    Path(folder).mkdir(parents=True)
    batches = made(rows, Path(folder), int(batch))
    next(batches)  # threads and files are there from here on
    seen, start, wall = 0, time.process_time(), time.perf_counter()
    while seen < int(read):
        seen += next(batches).size
    speeds = {"cpu": seen / (time.process_time() - start), "wall": seen / (time.perf_counter() - wall)}
    print(json.dumps({"version": importlib.metadata.version(name), **speeds}))


if __name__ == "__main__":
    main()
