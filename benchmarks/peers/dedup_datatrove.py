"""datatrove, for benchmarks/peers/dedup.py; runs in an environment of its own and knows nothing of corpusmill.

    python dedup_datatrove.py spacy|split KEPT ANSWER.json FILES.jsonl …

Its four stages as in its example, tasks of two workers: signatures a task a file, 14 buckets of 8, clusters, and the
kept documents, written to the folder KEPT, uncompressed. 5-grams, its default; `split` takes words that white
space separates instead of spaCy's, which take most of the time. ANSWER is as in dedup_libraries.py.
Of each cluster one document is kept: the others count as its duplicates, similar or not.
"""

import json
import shutil
import struct
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers.jsonl import JsonlWriter
from datatrove.utils.hashing import HashConfig
from loguru import logger

WORKERS = 2


class Split:
    """Words that white space separates; after `simplify_text` there is no punctuation left."""

    def word_tokenize(self, text: str) -> list[str]:
        return text.split()


def main(words: str, kept_folder: str, answer_file: str, *files: str) -> None:
    logger.remove()
    kept, work = Path(kept_folder), Path(answer_file).with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    folder = Path(files[0]).parent
    (work / "files").parent.mkdir(parents=True, exist_ok=True)
    (work / "files").write_text("\n".join(Path(file).name for file in files), "utf-8")
    config = MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=14, hashes_per_bucket=8, n_grams=5)

    def reader() -> Any:
        return JsonlReader(str(folder), paths_file=str(work / "files"))

    def carry_out(tasks: int, *steps: Any) -> None:
        workers, logs = min(tasks, WORKERS), str(work / "logs")
        LocalPipelineExecutor(list(steps), tasks, workers, logging_dir=logs, skip_completed=False).run()

    signatures = MinhashDedupSignature(str(work / "signatures"), config)
    if words == "split":
        signatures.word_tokenizer = Split()
    carry_out(len(files), reader(), signatures)
    carry_out(14, MinhashDedupBuckets(str(work / "signatures"), str(work / "buckets"), config=config))
    carry_out(1, MinhashDedupCluster(str(work / "buckets"), str(work / "clusters"), config, save_cluster_id=True))
    writer = JsonlWriter(str(kept), output_filename="${rank}.jsonl", compression=None)
    carry_out(len(files), reader(), MinhashDedupFilter(str(work / "clusters")), writer)
    answer = {"version": version("datatrove"), "ended": time.time()}
    answer["duplicates"] = duplicates(work / "clusters", [Path(file) for file in files])
    Path(answer_file).write_text(json.dumps(answer), "utf-8")


def duplicates(clusters: Path, files: list[Path]) -> list[tuple[int, int]]:
    heads: dict[int, int] = {}
    members: list[tuple[int, int]] = []
    base = 0
    for rank, file in enumerate(files):
        removed = {number for (number,) in records(clusters / f"{rank:06d}.remove", "<I")}
        for number, cluster in records(clusters / f"{rank:06d}.clusters", "<II"):
            if number in removed:
                members.append((base + number, cluster))
            else:
                heads[cluster] = base + number
        base += file.read_bytes().count(b"\n")
    return [(number, heads[cluster]) for number, cluster in members]


def records(path: Path, form: str) -> Any:
    return struct.iter_unpack(form, path.read_bytes()) if path.is_file() else iter(())


if __name__ == "__main__":
    main(*sys.argv[1:])
