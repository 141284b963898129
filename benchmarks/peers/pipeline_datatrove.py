"""datatrove, for benchmarks/peers/pipelines.py; runs in an environment of its own and knows nothing of corpusmill.

    python pipeline_datatrove.py run|tell SETTINGS.json

`run` is FineWeb's pipeline as in datatrove's example, from JSON lines on: addresses, language, Gopher's rules, C4
without terminal punctuation, FineWeb's rules; signatures, buckets, clusters and filter of MinHash, 14 buckets of 8;
personal data; JSON lines and tokens. What it drops is not written, and nothing is compressed, which the example does.
There are as many tasks as workers, so that each loads its models and lists once.

Variant `own` takes everything as it comes. `split` takes words at white space instead of spaCy's, leaves out C4's least
number of sentences, and takes the lists of words in addresses that SETTINGS names instead of its own.

`tell` writes what `run` did to the file `answer`, see pipelines.py; it is not timed.
"""

import json
import struct
import sys
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
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    LanguageFilter,
    URLFilter,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)
from datatrove.pipeline.formatters import PIIFormatter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
from datatrove.pipeline.writers.jsonl import JsonlWriter
from datatrove.utils import lid
from datatrove.utils.hashing import HashConfig
from loguru import logger
from tldextract import TLDExtract

BUCKETS, HASHES, NGRAM = 14, 8, 5


class Split:
    """Words that white space separates; after `simplify_text` there is no punctuation left."""

    def word_tokenize(self, text: str) -> list[str]:
        return text.split()


def run(settings: dict[str, Any]) -> None:
    logger.remove()
    work, workers = Path(settings["work"]), settings["workers"]
    own = settings["variant"] == "own"
    lid.cached_asset_path_or_download = lambda *_, **__: settings["language_model"]
    if not own:
        for module in (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter):
            module.split_into_words = lambda text, language: text.split()
    lists = {} if own else {name: settings["url_lists"][name] for name in URL_LISTS}
    addresses = URLFilter(use_integrated_lists=own, **lists)
    addresses.tldextractor = TLDExtract(suffix_list_urls=())  # its copy, without looking for a newer one
    files = [Path(file) for file in settings["files"]]
    work.mkdir(parents=True, exist_ok=True)
    (work / "files").write_text("\n".join(file.name for file in files), "utf-8")
    config = MinhashConfig(
        hash_config=HashConfig(precision=64), num_buckets=BUCKETS, hashes_per_bucket=HASHES, n_grams=NGRAM
    )

    def carry_out(tasks: int, *steps: Any) -> None:
        # Forked workers begin with what is loaded and set here.
        logs = str(work / "logs")
        LocalPipelineExecutor(
            list(steps), tasks, min(tasks, workers), logging_dir=logs, skip_completed=False, start_method="fork"
        ).run()

    filtered = str(work / "filtered")
    carry_out(
        workers,
        JsonlReader(str(files[0].parent), paths_file=str(work / "files")),
        addresses,
        LanguageFilter("en"),
        GopherRepetitionFilter(),
        GopherQualityFilter(),
        C4QualityFilter(filter_no_terminal_punct=False, **({} if own else {"min_num_sentences": -1})),
        FineWebQualityFilter(),
        JsonlWriter(filtered, compression=None),
    )
    signatures = MinhashDedupSignature(str(work / "signatures"), config)
    if not own:
        signatures.word_tokenizer = Split()
    tasks = len(list(Path(filtered).iterdir()))
    carry_out(tasks, JsonlReader(filtered), signatures)
    carry_out(BUCKETS, MinhashDedupBuckets(str(work / "signatures"), str(work / "buckets"), config=config))
    carry_out(1, MinhashDedupCluster(str(work / "buckets"), str(work / "clusters"), config, save_cluster_id=True))
    carry_out(
        tasks,
        JsonlReader(filtered),
        MinhashDedupFilter(str(work / "clusters")),
        PIIFormatter(),
        JsonlWriter(str(Path(settings["out"]) / "documents"), compression=None),
        DocumentTokenizer(
            str(Path(settings["out"]) / "tokens"),
            settings["tokenizer"],
            eos_token="<|endoftext|>",
            shuffle_documents=False,
        ),
    )


URL_LISTS = ("banned_words", "banned_subwords", "soft_banned_words")


def tell(settings: dict[str, Any]) -> None:
    filtered = [urls(file) for file in sorted((Path(settings["work"]) / "filtered").iterdir())]
    answer = {
        "version": version("datatrove"),
        "kept": [url for file in sorted((Path(settings["out"]) / "documents").iterdir()) for url in urls(file)],
        "compared": [url for file in filtered for url in file],
        "duplicates": duplicates(Path(settings["work"]) / "clusters", filtered),
    }
    Path(settings["answer"]).write_text(json.dumps(answer), "utf-8")


def urls(file: Path) -> list[str]:
    with file.open("rb") as lines:
        return [json.loads(line)["metadata"]["url"] for line in lines]


def duplicates(clusters: Path, files: list[list[str]]) -> list[tuple[str, str]]:
    """Every removed document, and the one of its cluster that is kept, similar or not."""
    heads: dict[int, str] = {}
    members: list[tuple[str, int]] = []
    for rank, names in enumerate(files):
        removed = {number for (number,) in records(clusters / f"{rank:06d}.remove", "<I")}
        for number, cluster in records(clusters / f"{rank:06d}.clusters", "<II"):
            if number in removed:
                members.append((names[number], cluster))
            else:
                heads[cluster] = names[number]
    return [(name, heads[cluster]) for name, cluster in members]


def records(path: Path, form: str) -> Any:
    return struct.iter_unpack(form, path.read_bytes()) if path.is_file() else iter(())


if __name__ == "__main__":
    {"run": run, "tell": tell}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
