"""Sets of documents with copies in them: real ones, planted ones, and pairs that people judged.

The folder is that of the development data: `neardup/`, `warc/crawl`, `text/`, `bench/`. The labels of a
pair are only reported; its similarity is always computed from the texts, see slow_jaccard.py.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import zstandard

from benchmarks.common import Workload
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.wet import WetReader
from corpusmill.storage import expand

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Copies:
    """Documents in order; `labelled` are pairs of them that somebody calls copies, by who says so. Of what is `large`
    no other pairs are looked at, and no other thresholds. `given` are the similarities that the set gives to pairs."""

    name: str
    texts: list[str]
    labelled: Mapping[str, Pairs] = field(default_factory=dict)
    large: bool = False
    given: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """Pairs of texts with a label each; `order` says how the labels rise, other labels are not judged. `copies` are
    those that are taken to mean a copy."""

    name: str
    order: tuple[str, ...]
    copies: tuple[str, ...]
    pairs: list[tuple[str, str]]
    labels: list[str]


def check(data: Path) -> None:
    """Raises SystemExit if the folder does not hold what is read here."""
    wanted = (
        *(f"neardup/{name}.jsonl.gz" for name in ("boost_1.74_vs_1.81_docs", "license_texts")),
        *(f"neardup/{name}.jsonl.gz" for name in ("copycat_cc2015_human_pairs", "clough_stevenson_plagiarism")),
        *("text/20newsgroups_train.jsonl.gz", "warc/crawl/records.parquet", "bench/web46.jsonl.zst"),
    )
    missing = [name for name in wanted if not (data / name).exists()]
    if missing:
        raise SystemExit(
            f"{data} has no {missing[0]}. Quality is measured on real and labelled documents: name their folder, "
            f"make quality DATA=DIR"
        )


def sets(data: Path, workload: Path | None) -> Iterator[Copies]:
    """One after the other, for they are large."""
    yield crawl(data / "warc/crawl")
    yield boost(data / "neardup")
    yield Copies("licence texts", [row["text"] for row in rows(data / "neardup/license_texts.jsonl.gz")])
    yield newsgroups(data)
    yield web46(data / "bench")
    if workload:
        yield planted(workload)


def crawl(folder: Path) -> Copies:
    """Pages as WET; copies of pages were added to the crawl, others are in it by nature."""
    texts: list[str] = []
    at = defaultdict(list)
    for file in expand(f"{folder}/*.warc.wet.gz"):
        for batch in WetReader().read(whole_file(file), "web", ReadCounts()):
            for text, url in zip(batch["text"].to_pylist(), batch["url"].to_pylist()):
                at[url].append(len(texts))
                texts.append(text)

    def pair(one: str, other: str) -> Pairs:
        """The two pages of these addresses; none where several pages share an address, as it is not known which."""
        pages = [*at[one]] if one == other else [*at[one], *at[other]]
        return [(pages[0], pages[1])] if len(pages) == 2 else []

    columns = ["url", "kind", "dup_of", "jaccard5"]
    records = pq.read_table(folder / "records.parquet", columns=columns).to_pylist()
    given: dict[tuple[int, int], float] = {}
    labelled: dict[str, Pairs] = {"exact_dup": [], "near_dup": [], "natural": []}
    for record in records:
        if record["dup_of"]:
            found = pair(record["dup_of"], record["url"])
            labelled[record["kind"]] += found
            given |= {both: record["jaccard5"] for both in found if record["kind"] == "near_dup"}
    for row in rows(folder / "natural_near_dups.jsonl.gz"):
        found = pair(row["url_a"], row["url_b"])
        labelled["natural"] += found
        given |= dict.fromkeys(found, row["jaccard5"])
    return Copies("crawled pages (WET)", texts, labelled, given=given)


def boost(folder: Path) -> Copies:
    pages = rows(folder / "boost_1.74_vs_1.81_docs.jsonl.gz")
    at = {row["id"]: number for number, row in enumerate(pages)}
    pairs = rows(folder / "boost_1.74_vs_1.81_same_page_pairs.jsonl.gz")
    same = [(at[pair["a"]], at[pair["b"]]) for pair in pairs]
    return Copies("two versions of Boost's pages", [row["text"] for row in pages], {"same page": same})


def newsgroups(data: Path) -> Copies:
    posts = rows(data / "text/20newsgroups_train.jsonl.gz")
    at = {row["id"]: number for number, row in enumerate(posts)}
    pairs = [(at[pair["a"]], at[pair["b"]]) for pair in rows(data / "neardup/20newsgroups_train_pairs.jsonl.gz")]
    return Copies("20 newsgroups", [row["text"] for row in posts], {"joined by shingles": pairs})


def web46(folder: Path) -> Copies:
    with (folder / "web46.jsonl.zst").open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
    return Copies("web46", [json.loads(line)["text"] for line in lines], said(folder / "web46.truth.json"))


def planted(folder: Path) -> Copies:
    """The workload of the benchmarks."""
    files = Workload.open(folder).files
    texts = [json.loads(line)["text"] for file in files for line in file.read_bytes().splitlines()]
    return Copies("workload", texts, said(folder / "truth.json"), large=True)


def said(truth: Path) -> dict[str, Pairs]:
    """The pairs that were planted, exact and near."""
    planted = json.loads(truth.read_bytes())
    return {kind: [(pair[1], pair[0]) for pair in planted[kind]] for kind in ("exact", "near")}


def judged(data: Path) -> list[Judged]:
    """Page pairs of a crawl of 2015 that people judged (chatnoir-copycat; the more, the more alike), and short answers
    that students wrote from a source on request (Clough and Stevenson 2011), each beside its source."""
    pages = rows(data / "neardup/copycat_cc2015_human_pairs.jsonl.gz")
    answers = rows(data / "neardup/clough_stevenson_plagiarism.jsonl.gz")
    source = {row["task"]: row["text"] for row in answers if row["category"] == "orig"}
    copied = [row for row in answers if row["category"] != "orig"]
    return [
        Judged(
            "pages",
            ("0.5", "1", "2", "3"),
            ("2", "3"),
            [(row["text_a"], row["text_b"]) for row in pages],
            [row["label"] for row in pages],
        ),
        Judged(
            "answers",
            ("non", "heavy", "light", "cut"),
            ("cut",),
            [(row["text"], source[row["task"]]) for row in copied],
            [row["category"] for row in copied],
        ),
    ]


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
